/** Whether `work` settled within the time; what it settled to, also a failure, is nobody's to handle any more. */
export async function settlesWithin(timeoutMs: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), Math.max(0, timeoutMs));
  });
  const settled = work.then(
    () => true,
    () => true,
  );
  const inTime = await Promise.race([settled, timeout]);
  clearTimeout(timer);
  return inTime;
}
