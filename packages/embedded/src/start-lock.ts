import { rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { createFile, readOrNull } from './files.ts';
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
    release(file);
  }
}

function take(file: string): boolean {
  if (createFile(file, ownIdentity())) return true;
  if (isStale(file)) removeStale(file);
  return false;
}

/** Does nothing when a user removed our lock and another process has taken it. */
function release(file: string): void {
  if (readOrNull(file) === ownIdentity()) rmSync(file, { force: true });
}

/**
 * Several waiters may see the same stale lock. Only the holder of a second lock removes the first one. So no
 * waiter removes a lock that another waiter has just taken. `take` also removes a stale second lock.
 */
function removeStale(file: string): void {
  const removal = `${file}.stale`;
  if (!take(removal)) return;
  try {
    if (isStale(file)) rmSync(file, { force: true });
  } finally {
    release(removal);
  }
}

function isStale(file: string): boolean {
  const holder = readOrNull(file); // null: released meanwhile
  return holder !== null && processIdentity(Number.parseInt(holder, 10)) !== holder;
}

function ownIdentity(): string {
  return processIdentity(process.pid) ?? '';
}
