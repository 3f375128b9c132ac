import type { AttemptSums } from '@postrider/store';

/** The pass looks every 5 s for a minute that has ended. */
const EVERY_MS = 5_000;
/** While there is more to do, the pass works a tenth of the time. */
const REST_PER_WORK = 9;
const REST_MS_MIN = 10;

/** Runs one step of the sums of attempts. @returns the pause before the next step, in milliseconds. */
export async function sumsPass(sums: AttemptSums, nowMs = () => performance.now()): Promise<number> {
  const begunAtMs = nowMs();
  if ((await sums.step()) === 'current') return EVERY_MS;
  return Math.max(REST_MS_MIN, REST_PER_WORK * (nowMs() - begunAtMs));
}
