import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
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

/** Makes the file by a hard link, so that no reader finds it half-written. */
function take(file: string): boolean {
  const draft = uniqueNameFor(file);
  writeFileSync(draft, processIdentity(process.pid) ?? '');
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    if (isStale(readHolder(file))) removeStale(file);
    return false;
  } finally {
    rmSync(draft, { force: true });
  }
}

/**
 * Several waiters may see the same stale lock. The rename lets one process remove it, and never a fresh lock.
 */
function removeStale(file: string): void {
  const aside = uniqueNameFor(file);
  try {
    renameSync(file, aside);
    if (!isStale(readHolder(aside))) linkSync(aside, file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'EEXIST') throw error;
  } finally {
    rmSync(aside, { force: true });
  }
}

function isStale(holder: string | null): boolean {
  if (holder === null) return false;
  return processIdentity(Number.parseInt(holder, 10)) !== holder;
}

function readHolder(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null; // released meanwhile
    throw error;
  }
}

function uniqueNameFor(file: string): string {
  return `${file}.${process.pid}-${Math.random().toString(36).slice(2)}`;
}
