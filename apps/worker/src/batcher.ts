/** Combines single calls into batches. */
export interface Batcher<Item, Result> {
  add(item: Item): Promise<Result>;
}

export interface BatcherOptions<Item, Result> {
  readonly sizeMax: number;
  /**
   * Returns one result per item, in order, or a promise of it. A rejection rejects all calls of the batch.
   */
  readonly run: (items: readonly Item[]) => Promise<readonly (Result | PromiseLike<Result>)[]>;
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result | PromiseLike<Result>) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The call rate is high at 24 calls in 40 ms, 600 per second. Batches then wait up to 4 × 3 ms for more
 * calls. They stop after 3 ms without a call: every caller may already be in the batch.
 */
const BUSY_CALLS = 24;
const BUSY_WITHIN_MS = 40;
const GATHER_STEPS_MAX = 4;
const GATHER_STEP_MS = 3;

/**
 * A single call runs at once. Calls that arrive during a batch form the next batch, as in a group commit.
 * From 600 calls per second, a batch also waits up to 12 ms for more calls.
 */
export function createBatcher<Item, Result>(options: BatcherOptions<Item, Result>): Batcher<Item, Result> {
  let waiting: Waiting<Item, Result>[] = [];
  const callRate = createCallRate();
  let running = false;
  let onBatchFull: (() => void) | null = null;

  async function runAll(): Promise<void> {
    while (waiting.length > 0) {
      if (callRate.isHigh() && waiting.length < options.sizeMax) await gather();
      const batch = waiting.slice(0, options.sizeMax);
      waiting = waiting.slice(options.sizeMax);
      await runBatch(batch);
    }
    running = false;
  }

  /** Ends early when the batch is full, or when a step brought no call. */
  async function gather(): Promise<void> {
    for (let step = 0, before = -1; step < GATHER_STEPS_MAX && waiting.length > before; step += 1) {
      before = waiting.length;
      await gatherStep();
      if (waiting.length >= options.sizeMax) return;
    }
  }

  async function gatherStep(): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, GATHER_STEP_MS);
      onBatchFull = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    onBatchFull = null;
  }

  async function runBatch(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await options.run(batch.map(({ item }) => item));
      batch.forEach(({ resolve }, index) => resolve(results[index] as Result | PromiseLike<Result>));
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  return {
    add(item) {
      return new Promise<Result>((resolve, reject) => {
        waiting.push({ item, resolve, reject });
        callRate.noteCall();
        if (waiting.length >= options.sizeMax) onBatchFull?.();
        // Runs later in this event-loop iteration, so calls that arrive together share a batch.
        if (!running) {
          running = true;
          setImmediate(() => void runAll());
        }
      });
    },
  };
}

/** Remembers the times of the last 24 calls. */
function createCallRate(): { noteCall(): void; isHigh(): boolean } {
  const calledAt: number[] = new Array<number>(BUSY_CALLS).fill(-Infinity);
  let oldest = 0;
  return {
    noteCall() {
      calledAt[oldest] = performance.now();
      oldest = (oldest + 1) % BUSY_CALLS;
    },
    isHigh: () => performance.now() - (calledAt[oldest] ?? -Infinity) <= BUSY_WITHIN_MS,
  };
}
