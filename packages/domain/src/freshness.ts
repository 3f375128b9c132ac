/** Late: due for longer than this. It waited behind others of its webhook, or for a service that was down. */
const LATE_MS = 500;

/**
 * Fresh are first attempts that are not late: they need little, and would else wait behind a backlog that is not theirs.
 * A retry has waited for half a minute or more.
 */
export function isFresh({
  attemptsMade,
  lateMs,
}: {
  readonly attemptsMade: number;
  readonly lateMs: number;
}): boolean {
  return attemptsMade === 0 && lateMs <= LATE_MS;
}
