import type { DeliveryKey, Violation } from './history.ts';
import { isRemoved } from './index-history.ts';
import type { HistoryIndex } from './index-history.ts';

/**
 * I2: no request is made twice, except one that was in flight at a fault that may repeat it. A duplicate is a
 * request that arrived without an attempt in the log.
 */
export function findRepeats(index: HistoryIndex): Violation[] {
  return [...index.receipts.keys()].flatMap((key): Violation[] => {
    const repeats = repeatsOf(key, index);
    const allowed = index.excuses.get(key)?.length ?? 0;
    if (repeats <= allowed) return [];
    return [
      {
        invariant: 'I2',
        key,
        text: `${repeats} requests too many; in flight at ${allowed} faults that allow one`,
      },
    ];
  });
}

/** Attempts in flight of a deleted webhook are not recorded. They are no duplicates. */
export function repeatsOf(key: DeliveryKey, index: HistoryIndex): number {
  const received = index.receipts.get(key)?.length ?? 0;
  const recorded = index.attempts.get(key)?.length ?? 0;
  const unrecorded = isRemoved(key, index) ? 1 : 0;
  return Math.max(0, received - recorded - unrecorded);
}
