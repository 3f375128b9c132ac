import { endProcess, processIdentity } from '@postrider/embedded';

/** Identifies a process: a later process may get the same number. */
export interface ProcessMark {
  readonly pid: number;
  /** The result of `processIdentity`. Null when the process had already ended. */
  readonly identity: string | null;
}

export function markOf(pid: number): ProcessMark {
  return { pid, identity: processIdentity(pid) };
}

/** `unsure` when another process may have the number now. */
export function stillRuns({ pid, identity }: ProcessMark): boolean | 'unsure' {
  const now = processIdentity(pid);
  if (now === null) return false;
  // Only Linux gives the start time. Elsewhere the number alone identifies the process.
  if (identity === null || identity === String(pid)) return 'unsure';
  return now === identity;
}

/** Sends SIGTERM, and SIGKILL when it does not end in time. Does nothing when the process may be another. */
export async function endMarked(mark: ProcessMark, graceMs: number): Promise<void> {
  if (stillRuns(mark) !== true) return;
  await endProcess(mark.pid, [
    { signal: 'SIGTERM', graceMs },
    { signal: 'SIGKILL', graceMs },
  ]);
}
