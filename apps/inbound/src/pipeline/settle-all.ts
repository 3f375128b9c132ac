/**
 * `Promise.all`, but a fault waits until all of `works` have settled. For works that read the same bytes: the
 * memory budget counts the bytes until the message is given up.
 *
 * Rejects with the fault of the first in the list that failed.
 */
export async function settleAll<T extends readonly unknown[] | []>(
  works: T,
): Promise<{ -readonly [At in keyof T]: Awaited<T[At]> }> {
  await Promise.allSettled(works);
  return Promise.all(works);
}
