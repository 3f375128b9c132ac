import { expect, test } from '@jest/globals';
import type { AttemptSums } from '@postrider/store';
import { sumsPass } from './housekeeping.ts';

/** Each step takes 20 ms. */
function steps(...results: Awaited<ReturnType<AttemptSums['step']>>[]) {
  let now = 0;
  const sums: AttemptSums = {
    async step() {
      now += 20;
      return results.shift() ?? 'current';
    },
  };
  return async () => sumsPass(sums, () => now);
}

test('the pass goes on soon while there is more to add up, at a tenth of the time, then looks every 5 s', async () => {
  const run = steps('summed', 'summed');
  expect([await run(), await run(), await run()]).toEqual([180, 180, 5_000]);
});
