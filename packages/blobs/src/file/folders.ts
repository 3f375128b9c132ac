import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isErrno } from './errno.ts';

/** Received mail is for its recipients: nobody else on the machine may look into these folders. */
const OWNER_FOLDER = 0o700;

/** Makes the folder and what is missing above it. Each is durable before the next is made. */
export async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: OWNER_FOLDER });
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return;
    if (!isErrno(error, 'ENOENT')) throw error;
    await makeFolder(dirname(path));
    return makeFolder(path);
  }
  await syncFolder(dirname(path));
}

/** Makes the names in a folder durable: a rename is lost with the power until then. */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return; // opens no folders; NTFS keeps its own journal of names
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
