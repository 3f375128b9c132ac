import { expect, test } from '@jest/globals';
import { inParallel } from './in-parallel.ts';

test('work runs once for each index, at most `concurrency` at once', async () => {
  const begun: number[] = [];
  let atOnce = 0;
  let most = 0;
  await inParallel({ count: 10, concurrency: 3 }, async (index) => {
    begun.push(index);
    most = Math.max(most, (atOnce += 1));
    await Promise.resolve();
    atOnce -= 1;
  });
  expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(most).toBe(3);
});

test('nothing begins after the abort', async () => {
  const over = new AbortController();
  let begun = 0;
  await inParallel({ count: Infinity, concurrency: 2, until: over.signal }, async () => {
    begun += 1;
    if (begun === 5) over.abort();
    await Promise.resolve();
  });
  expect(begun).toBe(5);
});
