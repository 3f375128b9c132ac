import { expect, test } from '@jest/globals';
import { trueTimeMs } from './times.ts';

const HOUR_MS = 3_600_000;
const ENDED_AT_MS = 10 * HOUR_MS;

test.each([0, -HOUR_MS, HOUR_MS])('a time by a clock that was %p ms off is put right', (offMs) => {
  const atMs = ENDED_AT_MS - 200_000;
  expect(trueTimeMs(atMs + offMs, [0, -HOUR_MS, 0, HOUR_MS], ENDED_AT_MS)).toBe(atMs);
});

test('a clock that was always right is believed', () => {
  expect(trueTimeMs(ENDED_AT_MS - HOUR_MS, [0], ENDED_AT_MS)).toBe(ENDED_AT_MS - HOUR_MS);
});
