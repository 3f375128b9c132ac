import { createHash } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 50;
const WAIT_MS = 600_000;

/**
 * Runs `work` while no other process does so under the same name for the same project. A holder that died without
 * letting go is passed over. `onWait` is called once when somebody else holds the lock.
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
    rmSync(file, { force: true });
  }
}

/** The file appears with its content already in it (a hard link), so nobody reads it half-written. */
function take(file) {
  const draft = uniqueNameFor(file);
  writeFileSync(draft, identity(process.pid) ?? '', { flag: 'wx' });
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

/** Several waiters may see the same stale lock; the rename lets one of them remove it, and never a fresh one. */
function removeStale(file) {
  const aside = uniqueNameFor(file);
  try {
    renameSync(file, aside);
    if (!isStale(aside)) linkSync(aside, file);
  } catch (error) {
    if (error.code !== 'ENOENT' && error.code !== 'EEXIST') throw error;
  } finally {
    rmSync(aside, { force: true });
  }
}

function isStale(file) {
  try {
    const holder = readFileSync(file, 'utf8');
    return identity(Number.parseInt(holder, 10)) !== holder;
  } catch (error) {
    if (error.code === 'ENOENT') return false; // let go of in this very moment
    throw error;
  }
}

/** A name that no later process gets: the number and, on Linux, the moment it started. Null when it is not running. */
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
    return null; // gone between the two looks
  }
}

function uniqueNameFor(file) {
  return `${file}.${process.pid}-${Math.random().toString(36).slice(2)}`;
}
