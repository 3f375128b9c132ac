import type { RateDecision } from '@postrider/domain';

export interface LimiterOptions {
  /** The limiter's store must answer within this time. Default: 250 ms. */
  readonly timeoutMs?: number;
  /** Called for each charge that is refused because the store did not answer. */
  readonly onUnavailable: (error: Error) => void;
  /** Length of an ordinary window in milliseconds. Default: the contract's. */
  readonly windowLengthMs?: number;
}

export const LIMITER_TIMEOUT_MS = 250;

/** The limiter's store did not answer within the time limit. */
export class LimiterTimeoutError extends Error {
  override readonly name = 'LimiterTimeoutError';
}

/**
 * Refuses the charge when the store fails or is silent (contract 8, rule 4). The store may still count a
 * charge after the time limit. The key then has less left in its window.
 *
 * @param ask resolves to true when the store allows the charge. The signal aborts at the time limit.
 */
export async function failClosed(
  ask: (overdue: AbortSignal) => Promise<boolean>,
  { timeoutMs = LIMITER_TIMEOUT_MS, onUnavailable }: Omit<LimiterOptions, 'windowLengthMs'>,
): Promise<RateDecision> {
  const deadline = new AbortController();
  const stopWaiting = afterNextPoll(timeoutMs, () =>
    deadline.abort(new LimiterTimeoutError(`the limiter's store did not answer within ${timeoutMs} ms`)),
  );
  try {
    return (await unlessAborted(ask(deadline.signal), deadline.signal))
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
 * Node runs timers before it reads sockets. After a busy period the answer may be waiting unread. So this
 * reads the sockets once more after the time limit, then calls `onOverdue`.
 *
 * @returns a function that cancels the call.
 */
function afterNextPoll(timeoutMs: number, onOverdue: () => void): () => void {
  let immediate: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => (immediate = setImmediate(onOverdue)), timeoutMs);
  return () => {
    clearTimeout(timer);
    clearImmediate(immediate);
  };
}

/** Settles like `answer`, or rejects with the signal's reason as soon as the signal aborts. */
export async function unlessAborted<Answer>(answer: Promise<Answer>, signal: AbortSignal): Promise<Answer> {
  let onAbort = (): void => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort);
  });
  try {
    return await Promise.race([answer, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
