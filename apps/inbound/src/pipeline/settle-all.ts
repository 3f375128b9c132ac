/**
 * Like `Promise.all`, but it rejects only after all of `works` have settled. Use it for works that read the
 * same bytes: the memory budget counts these bytes until this promise settles.
 *
 * It rejects with the error of the first failed work in list order.
 */
export async function settleAll<T extends readonly unknown[] | []>(
  works: T,
): Promise<{ -readonly [At in keyof T]: Awaited<T[At]> }> {
  await Promise.allSettled(works);
  return Promise.all(works);
}
