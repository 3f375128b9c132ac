import { setTimeout as delay } from 'node:timers/promises';

export interface WaitOptions {
  /** The words after "waited 20000 ms for". */
  what: string;
  timeoutMs?: number;
  intervalMs?: number;
}

type Pending = false | null | undefined;

/**
 * Calls `condition` until it returns a value, and returns that. An error of `condition` counts as "not yet".
 * The last one is the cause of the failure.
 * @throws after `timeoutMs` (20 s)
 */
export async function waitFor<T>(
  condition: () => T | Pending | Promise<T | Pending>,
  { what, timeoutMs = 20_000, intervalMs = 20 }: WaitOptions,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    let failure: unknown;
    try {
      const answer = await condition();
      if (answer !== false && answer !== null && answer !== undefined) return answer;
    } catch (error) {
      failure = error;
    }
    if (performance.now() > deadline) {
      const reason = failure instanceof Error ? `; last error: ${failure.message}` : '';
      throw new Error(`waited ${timeoutMs} ms for ${what}${reason}`, { cause: failure });
    }
    await delay(intervalMs);
  }
}
