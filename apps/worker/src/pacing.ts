/** Of the rate at which slots come free: enough more that none stays free for want of a beginning. */
const HEADROOM = 1.25;
/** How much the last end counts for the mean of how long work takes. */
const WEIGHT = 1 / 8;
/** What is less cannot be waited for. */
const TIMER_MS = 1;
/** Starts that a busy event loop has missed are made up for, within this time. */
const CATCH_UP_MS = 50;

export interface PacingOptions {
  /** How many at a time there can be. */
  readonly slots: number;
  /** A monotonic clock. */
  readonly nowMs?: () => number;
}

/**
 * Begins work no faster than its slots come free, going by how long work took lately. Attempts that were begun together and
 * run out of time together would else be begun together again, TLS handshakes and all, for as long as their endpoints
 * hang. Work that is quick is not held up.
 *
 * @returns does the work when its time has come; settles as the work does
 */
export function createPacing({
  slots,
  nowMs = () => performance.now(),
}: PacingOptions): <T>(work: () => Promise<T>) => Promise<T> {
  let meanMs = 0;
  let lastMs = -Infinity;
  let last = Promise.resolve();

  /** One after the other, each by the mean of the moment at which it is the next. */
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
