/** The median and the range of several measurements. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly samples: number;
}

/** @throws Error without a value, or for one that is no number: a missing measurement is not zero. */
export function spreadOf(values: readonly number[]): Spread {
  if (values.length === 0 || values.some((value) => !Number.isFinite(value))) {
    throw new Error(`nothing to take a median of: [${values.join(', ')}]`);
  }
  const sorted = ascending(values);
  return { median: median(sorted), min: sorted[0] ?? 0, max: sorted.at(-1) ?? 0, samples: sorted.length };
}

/** The mean of the middle two when the count is even. */
export function median(values: readonly number[]): number {
  const sorted = ascending(values);
  const middle = sorted.length / 2;
  const [low, high] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2;
}

/** Nearest rank: the smallest value with at least the share `q` of all values at or below it. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = ascending(values);
  return sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)] ?? Number.NaN;
}

/** `p50 1.2 ms, p99 3.4 ms` */
export function quantilesInWords(timesMs: readonly number[], digits = 1): string {
  const at = (q: number): string => quantile(timesMs, q).toFixed(digits);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`;
}

/**
 * The slope of a line through points: the median of the slopes of all pairs (Theil–Sen). A few outliers, such
 * as a heap just before its collection, do not change it much.
 */
export function slopeOf(points: readonly (readonly [x: number, y: number])[]): number {
  const slopes: number[] = [];
  points.forEach(([x, y], index) => {
    for (const [otherX, otherY] of points.slice(index + 1)) {
      if (otherX !== x) slopes.push((otherY - y) / (otherX - x));
    }
  });
  return median(slopes);
}

function ascending(values: readonly number[]): number[] {
  return [...values].sort((a, b) => a - b);
}
