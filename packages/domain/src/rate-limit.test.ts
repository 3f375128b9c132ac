import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { windowMs } from './rate-limit.ts';

test.each([
  [1, 60, 60_000],
  [60, 60, 60_000],
  [61, 60, 61_000],
  [100, 60, 100_000],
  [100, 1, 6_000_000],
  [25, 3, 500_000], // exact: a quotient first would end one millisecond late
  [2, 7, 60_000],
  [8, 7, 68_572], // rounded up: the cost has drained when the window ends
])('a charge of %d under a limit of %d a minute keeps its window for %d ms', (cost, limit, ms) => {
  expect(windowMs(cost, limit)).toBe(ms);
});

test('a window is whole milliseconds, never shorter than the cost takes to drain and under 1 ms longer', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1000 }), fc.integer({ min: 1, max: 100_000 }), (cost, limit) => {
      const ms = windowMs(cost, limit);
      expect(Number.isInteger(ms)).toBe(true);
      expect(ms * limit).toBeGreaterThanOrEqual(60_000 * cost);
      if (cost > limit) expect((ms - 1) * limit).toBeLessThan(60_000 * cost);
    }),
  );
});

test('another length of window scales alike', () => {
  expect([windowMs(1, 60, 300), windowMs(100, 60, 300)]).toEqual([300, 500]);
});
