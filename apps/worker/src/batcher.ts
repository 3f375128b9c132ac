/** Items per batch, and so rows per statement. */
const SIZE_MAX = 200;

/** Returns one result per item, in order, or a promise. A rejection rejects all calls of the batch. */
type RunBatch<Item, Result> = (items: readonly Item[]) => Promise<readonly (Result | PromiseLike<Result>)[]>;

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result | PromiseLike<Result>) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Combines single calls into batches. A single call runs at once. Calls that arrive during a batch form the
 * next batch, as in a group commit.
 */
export class Batcher<Item, Result> {
  readonly #run: RunBatch<Item, Result>;
  readonly #waiting: Waiting<Item, Result>[] = [];
  #isRunning = false;

  constructor(run: RunBatch<Item, Result>) {
    this.#run = run;
  }

  add(item: Item): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      // Runs later in this event-loop iteration, so calls that arrive together share a batch.
      if (!this.#isRunning) {
        this.#isRunning = true;
        setImmediate(() => void this.#runAll());
      }
    });
  }

  async #runAll(): Promise<void> {
    while (this.#waiting.length > 0) await this.#runBatch(this.#waiting.splice(0, SIZE_MAX));
    this.#isRunning = false;
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
