import { setTimeout as delay } from 'node:timers/promises';
import { processIdentity } from '@postrider/embedded';

/** A process that was started once, told apart from a later one that got its number. */
export interface ProcessMark {
  readonly pid: number;
  /** As `processIdentity` names it; null for one that was gone already. */
  readonly identity: string | null;
}

const POLL_MS = 20;

export function markOf(pid: number): ProcessMark {
  return { pid, identity: processIdentity(pid) };
}

/** Whether it still runs. `unsure` where it may as well be another that got its number. */
export function stillRuns({ pid, identity }: ProcessMark): boolean | 'unsure' {
  const now = processIdentity(pid);
  if (now === null) return false;
  // Where the system did not say when it was started (not Linux), its number is all there is.
  if (identity === null || identity === String(pid)) return 'unsure';
  return now === identity;
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
