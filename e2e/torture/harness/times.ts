/**
 * All times of an experiment. The contract's schedule (30 s to 32 min) is scaled only here. Unscaled, an
 * experiment would take an hour.
 */
const RETRY_SCALE = 1 / 300;
const CONTRACT_DELAYS_SECONDS = [30, 60, 120, 240, 480, 960, 1920];

export const TIMES = {
  /** 0.1 s to 6.4 s. */
  retryDelaysMs: CONTRACT_DELAYS_SECONDS.map((seconds) => seconds * 1000 * RETRY_SCALE),
  /** Far more than an endpoint of the harness needs, even on a busy machine. */
  attemptTimeoutMs: 4_000,
  /** Must exceed the attempt's time limit by more than 5 s. */
  leaseSeconds: 10,
  mailTimeoutMs: 1_000,
  /** The worker's lease of a message, MAIL_TIMEOUT_MS + 15 s, and 10 s until the relay's job is ready. */
  mailLeaseSeconds: 26,
  /** The interval of the relay's polling pass. */
  pollMs: 2_000,
  shutdownDeadlineMs: 10_000,
} as const;

/** The environment that sets these times in a process. */
export const TIMES_ENVIRONMENT: Readonly<Record<string, string>> = {
  DELIVERY_RETRY_DELAYS_SECONDS: TIMES.retryDelaysMs.map((ms) => String(ms / 1000)).join(','),
  DELIVERY_TIMEOUT_MS: String(TIMES.attemptTimeoutMs),
  LEASE_SECONDS: String(TIMES.leaseSeconds),
  MAIL_RETRY_DELAYS_SECONDS: TIMES.retryDelaysMs.map((ms) => String(ms / 1000)).join(','),
  MAIL_TIMEOUT_MS: String(TIMES.mailTimeoutMs),
  SHUTDOWN_DEADLINE_MS: String(TIMES.shutdownDeadlineMs),
};

/** Milliseconds since 1970 on a clock that never jumps. All logs of the harness use it. */
export function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

/**
 * Corrects a time of a clock that was off by one of these offsets. Steps are large and experiments are short,
 * so only one offset puts the time near the end.
 */
export function trueTimeMs(byClockMs: number, offsetsMs: readonly number[], endedAtMs: number): number {
  const candidates = offsetsMs.map((offMs) => byClockMs - offMs);
  const awayMs = (candidateMs: number): number => Math.abs(endedAtMs - candidateMs);
  return candidates.reduce((best, next) => (awayMs(next) < awayMs(best) ? next : best), candidates[0] ?? NaN);
}
