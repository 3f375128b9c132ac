/** When a failed attempt is tried again, and when it no longer is. */
export interface RetrySchedule {
  /** Delays in milliseconds: entry 0 follows the first failed attempt. */
  readonly delaysMs: readonly number[];
  /** Attempts before giving up: one more than there are delays. */
  readonly attemptsMax: number;
}

/** Contract 6.4: 30 seconds, then 1, 2, 4, 8, 16 and 32 minutes; eight attempts in about an hour. */
export const CONTRACT_RETRY_DELAYS_SECONDS: readonly number[] = [30, 60, 120, 240, 480, 960, 1920];

/** @param delaysSeconds fractions allowed; rounded to whole milliseconds, as timers and queues count. */
export function retrySchedule(delaysSeconds: readonly number[]): RetrySchedule {
  return {
    delaysMs: delaysSeconds.map((seconds) => Math.round(seconds * 1000)),
    attemptsMax: delaysSeconds.length + 1,
  };
}

/** The delay after the `attempt`-th attempt (1 for the first) has failed, or null when it was the last one. */
export function delayAfter(schedule: RetrySchedule, attempt: number): number | null {
  return schedule.delaysMs[attempt - 1] ?? null;
}
