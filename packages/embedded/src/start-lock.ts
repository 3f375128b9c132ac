import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { processIdentity } from './process-state.ts';

const POLL_MS = 20;
const WAIT_MS = 60_000;

/**
 * Runs `work` while no other process does so under the same lock file. A holder that died without letting go is
 * passed over.
 * @throws after a minute, naming the file
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

/** The file appears with its content already in it (a hard link), so nobody reads it half-written. */
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

/** Several waiters may see the same stale lock; the rename lets one of them remove it, and never a fresh one. */
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
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null; // let go of in this very moment
    throw error;
  }
}

function uniqueNameFor(file: string): string {
  return `${file}.${process.pid}-${Math.random().toString(36).slice(2)}`;
}
