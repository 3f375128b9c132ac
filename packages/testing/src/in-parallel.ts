/**
 * Runs `work` `count` times, at most `concurrency` at once.
 *
 * @param until starts no more when it aborts
 * @throws the first error
 */
export async function inParallel(
  { count, concurrency, until }: { count: number; concurrency: number; until?: AbortSignal },
  work: (index: number) => Promise<unknown>,
): Promise<void> {
  let begun = 0;
  const workUntilDone = async (): Promise<void> => {
    while (begun < count && until?.aborted !== true) await work(begun++);
  };
  await Promise.all(Array.from({ length: concurrency }, workUntilDone));
}
