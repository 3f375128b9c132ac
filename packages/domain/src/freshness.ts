/**
 * A delivery that is due for longer is late: it waited behind its webhook's backlog, or the service was down.
 */
const LATE_MS = 500;

/**
 * A first attempt that is not late is fresh. Without priority it would wait behind another webhook's backlog.
 * A retry has waited for at least 30 seconds already.
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
