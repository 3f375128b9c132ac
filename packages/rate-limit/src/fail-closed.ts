import type { RateDecision } from '@postrider/domain';

export interface FailClosedOptions {
  /** How long the store may take to answer. */
  readonly timeoutMs: number;
  /** Told each time a charge is refused because the store did not answer: for a log line and a counter. */
  readonly onUnavailable: (error: Error) => void;
}

/** How long the store may take before the charge is refused, when nothing else is said. */
export const LIMITER_TIMEOUT_MS = 250;

/** The limiter's store did not answer within its time. */
export class LimiterTimeoutError extends Error {
  override readonly name = 'LimiterTimeoutError';
}

/**
 * Refuses when the store fails or is silent (contract 8, rule 4). The store may still count a charge whose
 * answer came too late: the key then has that much less in its window.
 *
 * @param ask whether the store allows the charge; the signal is aborted when its time is over.
 */
export async function failClosed(
  ask: (overdue: AbortSignal) => Promise<boolean>,
  { timeoutMs, onUnavailable }: FailClosedOptions,
): Promise<RateDecision> {
  const time = new AbortController();
  const stopWaiting = afterNextPoll(timeoutMs, () =>
    time.abort(new LimiterTimeoutError(`the limiter's store did not answer within ${timeoutMs} ms`)),
  );
  try {
    return (await unlessAborted(ask(time.signal), time.signal))
      ? { allowed: true }
      : { allowed: false, why: 'limit' };
  } catch (error) {
    onUnavailable(error instanceof Error ? error : new Error(String(error), { cause: error }));
    return { allowed: false, why: 'limiter-unavailable' };
  } finally {
    stopWaiting();
  }
}

/**
 * Calls `overdue` once the time is over and the sockets have been read since. Timers come before sockets in a turn of
 * the event loop: where this process itself was busy for so long, the answer may be there, and nobody has looked.
 *
 * @returns how to call it off.
 */
function afterNextPoll(timeoutMs: number, overdue: () => void): () => void {
  let immediate: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => (immediate = setImmediate(overdue)), timeoutMs);
  return () => {
    clearTimeout(timer);
    clearImmediate(immediate);
  };
}

/** What `answer` comes to, or the signal's reason as soon as it is aborted. */
export async function unlessAborted<Answer>(answer: Promise<Answer>, signal: AbortSignal): Promise<Answer> {
  let stop = (): void => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(signal.reason as Error);
    signal.addEventListener('abort', stop);
  });
  try {
    return await Promise.race([answer, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
