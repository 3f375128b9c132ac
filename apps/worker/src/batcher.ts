/** Items per batch, and so rows per statement. */
const SIZE_MAX = 200;
/**
 * The call rate is high at 24 calls in 40 ms, 600 per second. Batches then wait up to 4 × 3 ms for more
 * calls. They stop after 3 ms without a call: every caller may already be in the batch.
 */
const BUSY_CALLS = 24;
const BUSY_WITHIN_MS = 40;
const GATHER_STEPS_MAX = 4;
const GATHER_STEP_MS = 3;

/** Returns one result per item, in order, or a promise. A rejection rejects all calls of the batch. */
type RunBatch<Item, Result> = (items: readonly Item[]) => Promise<readonly (Result | PromiseLike<Result>)[]>;

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result | PromiseLike<Result>) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Combines single calls into batches. A single call runs at once. Calls that arrive during a batch form the
 * next batch, as in a group commit. From 600 calls per second, a batch also waits up to 12 ms for more calls.
 */
export class Batcher<Item, Result> {
  readonly #run: RunBatch<Item, Result>;
  readonly #sizeMax: number;
  #waiting: Waiting<Item, Result>[] = [];
  /** The times of the last 24 calls, as a ring: the oldest is at `#oldestCall`. */
  readonly #calledAtMs = new Array<number>(BUSY_CALLS).fill(-Infinity);
  #oldestCall = 0;
  #isRunning = false;
  #onBatchFull: (() => void) | null = null;

  constructor(run: RunBatch<Item, Result>, sizeMax = SIZE_MAX) {
    this.#run = run;
    this.#sizeMax = sizeMax;
  }

  add(item: Item): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      this.#calledAtMs[this.#oldestCall] = performance.now();
      this.#oldestCall = (this.#oldestCall + 1) % BUSY_CALLS;
      if (this.#waiting.length >= this.#sizeMax) this.#onBatchFull?.();
      // Runs later in this event-loop iteration, so calls that arrive together share a batch.
      if (!this.#isRunning) {
        this.#isRunning = true;
        setImmediate(() => void this.#runAll());
      }
    });
  }

  async #runAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      if (this.#isBusy() && this.#waiting.length < this.#sizeMax) await this.#gather();
      const batch = this.#waiting.slice(0, this.#sizeMax);
      this.#waiting = this.#waiting.slice(this.#sizeMax);
      await this.#runBatch(batch);
    }
    this.#isRunning = false;
  }

  #isBusy(): boolean {
    return performance.now() - (this.#calledAtMs[this.#oldestCall] ?? -Infinity) <= BUSY_WITHIN_MS;
  }

  /** Ends early when the batch is full, or when a step brought no call. */
  async #gather(): Promise<void> {
    for (let step = 0, before = -1; step < GATHER_STEPS_MAX && this.#waiting.length > before; step += 1) {
      before = this.#waiting.length;
      await this.#gatherStep();
      if (this.#waiting.length >= this.#sizeMax) return;
    }
  }

  async #gatherStep(): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, GATHER_STEP_MS);
      this.#onBatchFull = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#onBatchFull = null;
  }

  async #runBatch(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#run(batch.map(({ item }) => item));
      batch.forEach(({ resolve }, index) => resolve(results[index] as Result | PromiseLike<Result>));
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
