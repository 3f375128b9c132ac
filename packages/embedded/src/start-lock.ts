import { linkSync, renameSync, rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { createFile, readOrNull, uniqueNameFor } from './files.ts';
import { processIdentity } from './process-state.ts';

const POLL_MS = 20;
const WAIT_MS = 60_000;

/**
 * Runs `work` under a lock file, one process at a time. Ignores the lock of a dead process.
 * @throws after a minute, with the name of the file
 */
export async function withStartLock<T>(file: string, work: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + WAIT_MS;
  while (!take(file)) {
    if (performance.now() > deadline) {
      throw new Error(
        `another process has held ${file} for ${WAIT_MS / 1000} s; remove it if none is running`,
      );
    }
    await delay(POLL_MS);
  }
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}

function take(file: string): boolean {
  if (createFile(file, processIdentity(process.pid) ?? '')) return true;
  if (isStale(file)) removeStale(file);
  return false;
}

/**
 * Several waiters may see the same stale lock. The rename lets one process remove it, and never a fresh lock.
 */
function removeStale(file: string): void {
  const aside = uniqueNameFor(file);
  try {
    renameSync(file, aside);
    if (!isStale(aside)) linkSync(aside, file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'EEXIST') throw error;
  } finally {
    rmSync(aside, { force: true });
  }
}

function isStale(file: string): boolean {
  const holder = readOrNull(file); // null: released meanwhile
  return holder !== null && processIdentity(Number.parseInt(holder, 10)) !== holder;
}
