import { setTimeout as delay } from 'node:timers/promises';

export interface WaitOptions {
  /** The words after "waited 20000 ms for". */
  what: string;
  timeoutMs?: number | undefined;
  /** Unset: 20, and 5 % of the time so far when that is more, up to 500. */
  intervalMs?: number;
}

const INTERVAL_MS = { min: 20, max: 500, partOfTimeSoFar: 1 / 20 } as const;

type Pending = false | null | undefined;

/**
 * Calls `condition` until it returns a value, and returns that. An error of `condition` counts as "not yet".
 * The last one is the cause of the failure.
 * @throws after `timeoutMs` (60 s)
 */
export async function waitFor<T>(
  condition: () => T | Pending | Promise<T | Pending>,
  { what, timeoutMs = 60_000, intervalMs }: WaitOptions,
): Promise<T> {
  const beganAt = performance.now();
  for (;;) {
    let failure: unknown;
    try {
      const answer = await condition();
      if (answer !== false && answer !== null && answer !== undefined) return answer;
    } catch (error) {
      failure = error;
    }
    const elapsedMs = performance.now() - beganAt;
    if (elapsedMs > timeoutMs) {
      const reason = failure instanceof Error ? `; last error: ${failure.message}` : '';
      throw new Error(`waited ${timeoutMs} ms for ${what}${reason}`, { cause: failure });
    }
    await delay(intervalMs ?? intervalAfter(elapsedMs));
  }
}

/** A long wait asks seldom, because many conditions ask Postgres or a process. It ends up to 5 % late. */
export function intervalAfter(elapsedMs: number): number {
  const { min, max, partOfTimeSoFar } = INTERVAL_MS;
  return Math.min(Math.max(min, elapsedMs * partOfTimeSoFar), max);
}
