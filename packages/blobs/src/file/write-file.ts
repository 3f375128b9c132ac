import { randomBytes } from 'node:crypto';
import { rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isErrno, openIfThere } from './errno.ts';
import { makeFolder, syncFolder } from './folders.ts';

const OWNER_FILE = 0o600;
/** Prefix of a file that is being written. No blob id starts with it. */
const TEMPORARY_PREFIX = '.writing-';

export function isTemporary(name: string): boolean {
  return name.startsWith(TEMPORARY_PREFIX);
}

/** Resolves when the file is durable. Its name appears by a rename, so a reader never sees a partial file. */
export async function writeDurably(path: string, bytes: Buffer): Promise<void> {
  const folder = dirname(path);
  const temporary = join(folder, `${TEMPORARY_PREFIX}${basename(path)}.${randomBytes(8).toString('hex')}`);
  try {
    await writeNew(temporary, bytes);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined); // the disk itself may have failed
    throw error;
  }
  await syncFolder(folder);
}

async function writeNew(path: string, bytes: Buffer): Promise<void> {
  const write = () => writeFile(path, bytes, { flag: 'wx', mode: OWNER_FILE, flush: true });
  try {
    await write();
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error;
    await makeFolder(dirname(path));
    await write();
  }
}

/**
 * Sets the date of the file to now, durably.
 *
 * @returns false when no file of this size exists, or another process removed it meanwhile
 */
export async function refreshDate(path: string, size: number): Promise<boolean> {
  const handle = await openIfThere(path, 'r+');
  if (handle === null) return false;
  try {
    if ((await handle.stat()).size !== size) return false;
    const now = new Date();
    await handle.utimes(now, now);
    await handle.sync();
    if ((await handle.stat()).nlink === 0) return false;
  } finally {
    await handle.close();
  }
  await syncFolder(dirname(path)); // the process that made the file may not have synced its name yet
  return true;
}
