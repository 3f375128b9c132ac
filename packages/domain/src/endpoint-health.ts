/** The failed attempts since an endpoint's last success. */
export interface FailureRun {
  readonly count: number;
  /** When the first one started, in milliseconds of any clock. */
  readonly startedAtMs: number;
}

/** An attempt that ended. Times are in milliseconds of the same clock as those of a `FailureRun`. */
export interface EndedAttempt {
  readonly succeeded: boolean;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
}

/** An endpoint fails after this many failed attempts in a row, over at least `FAILING_AFTER_MS`. */
const FAILURES_MIN = 4;
/** Among many attempts a second, a few failures in a row are chance. So the run must also last this long. */
const FAILING_AFTER_MS = 5_000;

/** @returns null after a success: one success ends the run. */
export function failureRunAfter(before: FailureRun | null, attempt: EndedAttempt): FailureRun | null {
  if (attempt.succeeded) return null;
  return { count: (before?.count ?? 0) + 1, startedAtMs: before?.startedAtMs ?? attempt.startedAtMs };
}

/** True when an endpoint with this run of failures counts as failing at `nowMs`. */
export function isFailing({ count, startedAtMs }: FailureRun, nowMs: number): boolean {
  return count >= FAILURES_MIN && nowMs - startedAtMs >= FAILING_AFTER_MS;
}
