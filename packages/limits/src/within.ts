import { setTimeout as delay } from 'node:timers/promises';

/**
 * Resolves to the result of `work`, or to the result of `late` after `timeoutMs`. It does not cancel the
 * work. A later result or error is dropped. Rejects when the work rejects in time.
 */
export async function within<T>(work: () => Promise<T>, timeoutMs: number, late: () => T): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<T>((resolve) => {
    timer = setTimeout(() => resolve(late()), Math.max(0, timeoutMs));
  });
  try {
    return await Promise.race([work(), timeout]);
  } finally {
    clearTimeout(timer);
  }
}

const yes = (): boolean => true;

/** Resolves to whether `work` settles within the time. It drops the result, even an error. */
export async function settlesWithin(timeoutMs: number, work: Promise<unknown>): Promise<boolean> {
  return within(
    () => work.then(yes, yes),
    timeoutMs,
    () => false,
  );
}

/** Waits. Resolves early when the signal aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined);
}
