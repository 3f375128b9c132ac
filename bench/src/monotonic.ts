/**
 * Milliseconds of the machine's monotonic clock. All processes of the machine read the same clock, so times
 * of two processes can be subtracted. `checkSharedClock` checks this.
 */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/**
 * @param other reads the clock of another process
 * @throws Error when the answer is not between the times of question and answer: that clock is not ours
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
