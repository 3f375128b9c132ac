/** The delays after failed attempts. There is one more attempt than delays. */
export interface RetrySchedule {
  /** Entry 0 is the delay after the first failed attempt. */
  readonly delaysMs: readonly number[];
}

/** 30 seconds, then 1, 2, 4, 8, 16 and 32 minutes: eight attempts in about an hour (contract 6.4). */
export const CONTRACT_RETRY_DELAYS_SECONDS: readonly number[] = [30, 60, 120, 240, 480, 960, 1920];

/** @param delaysSeconds fractions allowed; rounded to whole milliseconds, as timers and queues count. */
export function retrySchedule(delaysSeconds: readonly number[]): RetrySchedule {
  return { delaysMs: delaysSeconds.map((seconds) => Math.round(seconds * 1000)) };
}

/** The delay after failed attempt number `attempt`, which starts at 1. Null after the last attempt. */
export function delayAfter(schedule: RetrySchedule, attempt: number): number | null {
  return schedule.delaysMs[attempt - 1] ?? null;
}
