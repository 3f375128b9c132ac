/**
 * Bounds of the buckets in which durations are counted, in milliseconds. The first bucket is below the first
 * bound, the last begins at the last bound. A bound is at most twice the one before it: this limits the error
 * of a percentile. Rows of `attempts_by_hour` have these buckets: a changed bound would make them wrong.
 */
export const DURATION_BOUNDS_MS: readonly number[] = [
  5, 10, 15, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1_300, 1_900, 2_600, 3_800, 5_200, 7_500,
  10_000, 15_000, 30_000,
];

/** How many attempts took how long. */
export interface Durations {
  /** One count per bucket. */
  readonly counts: readonly number[];
  /** The longest duration. */
  readonly slowestMs: number;
}

/** Adds the counts of each bucket, and keeps the longest duration. */
export function addDurations(all: readonly Durations[]): Durations {
  return {
    counts: Array.from({ length: DURATION_BOUNDS_MS.length + 1 }, (_, bucket) =>
      all.reduce((sum, { counts }) => sum + (counts[bucket] ?? 0), 0),
    ),
    slowestMs: Math.max(0, ...all.map(({ slowestMs }) => slowestMs)),
  };
}

/**
 * The duration in milliseconds that 95 of 100 attempts do not exceed, or null without attempts. It assumes
 * that durations are spread evenly within their bucket.
 */
export function p95Of({ counts, slowestMs }: Durations): number | null {
  const rank = 0.95 * counts.reduce((sum, count) => sum + count, 0);
  if (rank === 0) return null;
  let below = 0;
  for (const [bucket, count] of counts.entries()) {
    if (below + count >= rank) {
      const from = DURATION_BOUNDS_MS[bucket - 1] ?? 0;
      const to = Math.min(slowestMs, DURATION_BOUNDS_MS[bucket] ?? slowestMs);
      return Math.round(from + ((rank - below) / count) * Math.max(0, to - from));
    }
    below += count;
  }
  return slowestMs;
}
