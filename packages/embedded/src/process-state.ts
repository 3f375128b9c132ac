import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 10;

/**
 * Checks that the process exists and is no zombie. When the first process of a container never reaps its
 * children, `kill(pid, 0)` finds a dead server forever.
 */
export function isRunning(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: the process exists, as another user.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  return !isZombie(pid);
}

/** Sends `signal`. Returns false when the process is already gone. */
export function signalProcess(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

/** Waits until the process is gone. Returns false after `timeoutMs`. */
export async function waitForExit(pid: number, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (isRunning(pid)) {
    if (performance.now() > deadline) return false;
    await delay(POLL_MS);
  }
  return true;
}

/** Sends the signals in order and waits after each one, until the process is gone. */
export async function endProcess(
  pid: number,
  steps: readonly { signal: NodeJS.Signals; graceMs: number }[],
): Promise<void> {
  for (const { signal, graceMs } of steps) {
    if (!signalProcess(pid, signal) || (await waitForExit(pid, graceMs))) return;
  }
  throw new Error(`process ${pid} outlived ${steps.map((step) => step.signal).join(', ')}`);
}

/**
 * Identifies a process by its number and, on Linux, its start time: a later process may get the same number.
 * Returns null when the process does not run.
 */
export function processIdentity(pid: number): string | null {
  if (!isRunning(pid)) return null;
  const startedAt = statFields(pid)[19]; // field 22 of proc(5): index 0 is the state, field 3
  return startedAt === undefined ? String(pid) : `${pid} ${startedAt}`;
}

function isZombie(pid: number): boolean {
  return statFields(pid)[0] === 'Z';
}

/** The fields of /proc/PID/stat, from the state on. Empty without such a file. */
function statFields(pid: number): string[] {
  if (process.platform !== 'linux') return [];
  try {
    // "pid (name) state …": the name may contain ") ".
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return []; // the process ended meanwhile
  }
}
