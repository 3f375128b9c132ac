import { createHash } from 'node:crypto';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 50;
const WAIT_MS = 600_000;

/**
 * Runs `work` under a lock: one process at a time for this name and this folder `root`. Ignores the lock of a
 * dead process. Calls `onWait` once when another process holds the lock.
 * @throws after 10 minutes, with the name of the file
 */
export async function withLock(root, name, work, onWait = () => {}) {
  const project = createHash('sha256').update(root).digest('hex').slice(0, 12);
  const file = join(tmpdir(), `postrider-${name}-${project}.lock`);
  const deadline = performance.now() + WAIT_MS;
  for (let waited = false; !take(file); waited = true) {
    if (!waited) onWait();
    if (performance.now() > deadline)
      throw new Error(`another process holds ${file}; remove it if none is running`);
    await delay(POLL_MS);
  }
  try {
    return await work();
  } finally {
    release(file);
  }
}

/** A hard link makes the file appear with its content, so no process reads it half-written. */
function take(file) {
  const draft = uniqueNameFor(file);
  writeFileSync(draft, ownIdentity(), { flag: 'wx' });
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    if (isStale(file)) removeStale(file);
    return false;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Does nothing when a user removed our lock and another process has taken it. */
function release(file) {
  if (holderOf(file) === ownIdentity()) rmSync(file, { force: true });
}

/**
 * Several waiters may see the same stale lock. Only the holder of a second lock removes it. So no waiter removes a
 * lock that another one has taken meanwhile. The second lock may become stale, too.
 */
function removeStale(file) {
  const removal = `${file}.stale`;
  if (!take(removal)) return;
  try {
    if (isStale(file)) rmSync(file, { force: true });
  } finally {
    release(removal);
  }
}

function isStale(file) {
  const holder = holderOf(file);
  return holder !== null && identity(Number.parseInt(holder, 10)) !== holder;
}

/** Returns null when no process holds the lock. */
function holderOf(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return null;
    throw error;
  }
}

function ownIdentity() {
  return identity(process.pid) ?? '';
}

/**
 * Identifies a process by its number and, on Linux, its start time. A later process may get the same number.
 * Returns null when it does not run.
 */
function identity(pid) {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (error.code !== 'EPERM') return null;
  }
  if (process.platform !== 'linux') return String(pid);
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // From field 3 of proc(5) on: the name in field 2 may contain anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z') return null; // killed, but its parent has not reaped it
    return `${pid} ${fields[19]}`;
  } catch {
    return null; // the process ended meanwhile
  }
}

function uniqueNameFor(file) {
  return `${file}.${process.pid}-${Math.random().toString(36).slice(2)}`;
}
