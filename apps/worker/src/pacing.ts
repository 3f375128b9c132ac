/** Starts 25 % faster than slots free up, so no slot stays idle. */
const HEADROOM = 1.25;
/** Weight of the last attempt in the mean duration. */
const WEIGHT = 1 / 8;
/** Timers cannot wait for less. */
const TIMER_MS = 1;
/** A busy event loop may miss starts. It catches up on those of the last 50 ms. */
const CATCH_UP_MS = 50;

export interface PacingOptions {
  /** Attempts that may run at once. */
  readonly slots: number;
  /** Monotonic clock, in milliseconds. */
  readonly nowMs?: () => number;
}

/**
 * Limits the rate of starts to the rate at which slots free up, by the mean duration of recent work.
 * Otherwise attempts that timed out together would start together again, each with a TLS handshake. Quick
 * work does not wait.
 *
 * @returns a function that runs the work when its time has come, and settles as the work does
 */
export function createPacing({
  slots,
  nowMs = () => performance.now(),
}: PacingOptions): <T>(work: () => Promise<T>) => Promise<T> {
  let meanMs = 0;
  let lastMs = -Infinity;
  let last = Promise.resolve();

  /** Runs one after the other. Each uses the mean duration of the moment when it is next. */
  async function untilStart(askedMs: number): Promise<void> {
    const dueMs = lastMs + meanMs / (slots * HEADROOM);
    const waitMs = dueMs - nowMs();
    if (waitMs >= TIMER_MS) await new Promise((resolve) => setTimeout(resolve, Math.ceil(waitMs)));
    lastMs = Math.min(nowMs(), Math.max(dueMs, askedMs, nowMs() - CATCH_UP_MS));
  }

  return async (work) => {
    const askedMs = nowMs();
    await (last = last.then(() => untilStart(askedMs)));
    const begunMs = nowMs();
    try {
      return await work();
    } finally {
      meanMs += (nowMs() - begunMs - meanMs) * WEIGHT;
    }
  };
}
