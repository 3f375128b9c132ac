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

/** `unsure` when a process has this number, but it may be another process than the marked one. */
export function stillRuns({ pid, identity }: ProcessMark): boolean | 'unsure' {
  const now = processIdentity(pid);
  if (now === null) return false;
  // Only on Linux does `identity` contain the start time. Elsewhere it is the number alone.
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
