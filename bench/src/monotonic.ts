/**
 * Milliseconds of the machine's monotonic clock. Its start means nothing, but every process of the machine reads the
 * same one: a time of one process can be subtracted from that of another. `checkSharedClock` sees to that.
 */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/**
 * @param other reads the clock of another process
 * @throws Error when that clock is not ours: an answer then lies outside of the time between question and answer
 */
export async function checkSharedClock(other: () => Promise<number>): Promise<void> {
  for (let question = 0; question < 5; question += 1) {
    const before = monotonicMs();
    const there = await other();
    const after = monotonicMs();
    if (there < before || there > after) {
      throw new Error(
        `the processes of this machine do not share a clock: ${there} is not in ${before}..${after}`,
      );
    }
  }
}
