import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { addDurations, DURATION_BOUNDS_MS, p95Of } from './durations.ts';
import type { Durations } from './durations.ts';

/** The histogram of durations, as Postgres' `width_bucket` counts them. */
function histogram(durationsMs: readonly number[]): Durations {
  const counts = new Array<number>(DURATION_BOUNDS_MS.length + 1).fill(0);
  for (const ms of durationsMs) {
    const bucket = DURATION_BOUNDS_MS.filter((bound) => bound <= ms).length;
    counts[bucket] = (counts[bucket] ?? 0) + 1;
  }
  return { counts, slowestMs: Math.max(0, ...durationsMs) };
}

function exactP95(durationsMs: readonly number[]): number {
  const sorted = [...durationsMs].sort((a, b) => a - b);
  return sorted[Math.ceil(0.95 * sorted.length) - 1] ?? NaN;
}

test('no attempts have no p95', () => {
  expect(p95Of(histogram([]))).toBeNull();
});

test.each<[string, number[], number]>([
  ['one attempt', [212], 212],
  ['timeouts at the limit', [10_000, 10_000, 10_000], 10_000],
  ['longer than the last bound', [61_000], 61_000],
])('the p95 of %s does not exceed the slowest', (_, durationsMs, atMost) => {
  const p95 = p95Of(histogram(durationsMs));
  expect(p95).toBeLessThanOrEqual(atMost);
  expect(p95).toBeGreaterThan(0.9 * atMost);
});

test('the p95 is within one bucket of the exact one', () => {
  const durations = fc.array(fc.integer({ min: 0, max: 40_000 }), { minLength: 1, maxLength: 300 });
  fc.assert(
    fc.property(durations, (durationsMs) => {
      const exact = exactP95(durationsMs);
      const bucket = DURATION_BOUNDS_MS.filter((bound) => bound <= exact).length;
      const p95 = p95Of(histogram(durationsMs));
      expect(p95).toBeGreaterThanOrEqual(DURATION_BOUNDS_MS[bucket - 1] ?? 0);
      expect(p95).toBeLessThanOrEqual(
        Math.min(DURATION_BOUNDS_MS[bucket] ?? Infinity, Math.max(...durationsMs)),
      );
    }),
  );
});

test('the histogram of all attempts is the sum of histograms', () => {
  const parts = [[1, 7, 300], [], [301, 40_000]];
  expect(addDurations(parts.map(histogram))).toEqual(histogram(parts.flat()));
});
