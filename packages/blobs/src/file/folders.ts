import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isErrno } from './errno.ts';

/** Received mail is private: no other user of the machine may read these folders. */
const OWNER_FOLDER = 0o700;

/**
 * Makes the folder and its missing parents. Each is durable before the next one is made.
 *
 * @throws ENOENT when a parent is a symbolic link to nothing: its name exists, but no folder fits below it
 */
export async function makeFolder(path: string): Promise<void> {
  try {
    if (!(await makeOne(path))) return;
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error;
    await makeFolder(dirname(path));
    await makeOne(path);
  }
  await syncFolder(dirname(path));
}

/** Returns false when the name exists. */
async function makeOne(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: OWNER_FOLDER });
    return true;
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false;
    throw error;
  }
}

/** Makes the names in a folder durable. Until then, a power failure can undo a rename. */
export async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
