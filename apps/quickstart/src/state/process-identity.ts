import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** A process that was started once, told apart from a later one that got its number. */
export interface ProcessMark {
  readonly pid: number;
  /** When it was started, in the kernel's words; null where the system does not say (not Linux). */
  readonly startedAt: string | null;
}

const POLL_MS = 20;

export function markOf(pid: number): ProcessMark {
  return { pid, startedAt: startedAtOf(pid) };
}

/** Whether it still runs. `unsure` where it may as well be another that got its number. */
export function stillRuns(mark: ProcessMark): boolean | 'unsure' {
  try {
    process.kill(mark.pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  if (mark.startedAt === null || process.platform !== 'linux') return 'unsure';
  return startedAtOf(mark.pid) === mark.startedAt;
}

/** Asks it to end, and ends it when it has not done so in time. Does nothing unless it is certainly the one meant. */
export async function endMarked(mark: ProcessMark, graceMs: number): Promise<void> {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    if (stillRuns(mark) !== true) return;
    process.kill(mark.pid, signal);
    const deadline = performance.now() + graceMs;
    while (stillRuns(mark) === true && performance.now() < deadline) await delay(POLL_MS);
  }
}

/** Field 22 of proc(5); null when it does not run any more, is a zombie, or where there is no /proc. */
function startedAtOf(pid: number): string | null {
  if (process.platform !== 'linux') return null;
  try {
    // "pid (name) state …": the name may hold anything, so the count begins behind it.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? null : (fields[19] ?? null);
  } catch {
    return null; // gone between the two looks
  }
}
