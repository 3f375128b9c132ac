/** Limits how many tasks run at a time. Waiting tasks start in the order of their calls. */
export class Semaphore {
  readonly #stopped: AbortSignal | undefined;
  readonly #waiting: (() => void)[] = [];
  #free: number;

  /** @param stopped after this signal no task starts. */
  constructor(slots: number, stopped?: AbortSignal) {
    this.#free = slots;
    this.#stopped = stopped;
    stopped?.addEventListener('abort', () => this.#waiting.splice(0).forEach((start) => start()));
  }

  /**
   * Runs the task when a slot is free, and settles as the task does.
   *
   * @param onStopped runs instead, without a slot, when the stop signal comes before the task starts.
   * @throws the reason of the stop signal when there is no `onStopped`.
   */
  async run<T>(task: () => Promise<T>, onStopped?: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    // After the stop no task needs a slot, so the slots are no longer counted.
    if (this.#stopped?.aborted === true && onStopped !== undefined) return onStopped();
    this.#stopped?.throwIfAborted();
    try {
      return await task();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next(); // it gets this slot
    }
  }
}
