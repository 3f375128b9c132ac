/** Items per group, and so rows per statement. */
const SIZE_MAX = 200;

/** Returns one result or promise per item, in order. A rejection rejects all calls of the group. */
type RunGroup<Item, Result> = (items: readonly Item[]) => Promise<readonly (Result | PromiseLike<Result>)[]>;

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result | PromiseLike<Result>) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Combines single calls into groups. A single call runs at once. Calls that arrive while a group runs form
 * the next group.
 */
export function grouped<Item, Result>(run: RunGroup<Item, Result>): (item: Item) => Promise<Result> {
  const waiting: Waiting<Item, Result>[] = [];
  let isRunning = false;

  async function runAll(): Promise<void> {
    while (waiting.length > 0) await runGroup(waiting.splice(0, SIZE_MAX));
    isRunning = false;
  }

  async function runGroup(group: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await run(group.map(({ item }) => item));
      group.forEach(({ resolve }, index) => resolve(results[index] as Result | PromiseLike<Result>));
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }

  return (item) =>
    new Promise<Result>((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (isRunning) return;
      isRunning = true;
      // Runs later in this event-loop iteration, so calls that arrive together form one group.
      setImmediate(() => void runAll());
    });
}
