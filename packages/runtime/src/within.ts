/**
 * What `work` resolves to, or what `late` returns when that takes longer than `timeoutMs`. The work is not cancelled;
 * what becomes of it afterwards is dropped. Rejects when the work rejects in time.
 */
export async function within<T>(work: () => Promise<T>, timeoutMs: number, late: () => T): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<T>((resolve) => {
    timer = setTimeout(() => resolve(late()), Math.max(0, timeoutMs));
  });
  try {
    return await Promise.race([work(), timeout]);
  } finally {
    clearTimeout(timer);
  }
}
