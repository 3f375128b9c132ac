import { expect, test } from '@jest/globals';
import { checkSharedClock, monotonicMs } from './monotonic.ts';

test('a clock that reads within question and answer is shared', async () => {
  await expect(checkSharedClock(async () => monotonicMs())).resolves.toBeUndefined();
});

test.each([60_000, -60_000])('a clock that is %i ms off is not', async (offMs) => {
  await expect(checkSharedClock(async () => monotonicMs() + offMs)).rejects.toThrow('do not share a clock');
});
