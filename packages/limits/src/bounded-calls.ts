/** Runs calls, each with a time limit. A call ends at the limit, also when its work goes on. */
export class BoundedCalls {
  readonly #timeoutMs: number;
  readonly #late: () => Error;
  readonly #running = new Set<AbortController>();
  #closed: Error | null = null;

  /** @param late makes the error of a call that is not done after `timeoutMs`. */
  constructor(timeoutMs: number, late: () => Error) {
    this.#timeoutMs = timeoutMs;
    this.#late = late;
  }

  /**
   * @param work gets a signal that aborts when the call ends too late. Pass it on, so that connections close.
   * @throws the error of `late` or of `close`, or the work's own error
   */
  async run<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#closed !== null) throw this.#closed;
    const abort = new AbortController();
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    abort.signal.addEventListener('abort', () => reject(abort.signal.reason as Error));
    const timer = setTimeout(() => abort.abort(this.#late()), this.#timeoutMs);
    this.#running.add(abort);
    try {
      return await Promise.race([work(abort.signal), aborted]);
    } finally {
      clearTimeout(timer);
      this.#running.delete(abort);
    }
  }

  /** Ends the running calls, and every later one, with this error. */
  close(reason: Error): void {
    this.#closed = reason;
    for (const abort of this.#running) abort.abort(reason);
  }
}
