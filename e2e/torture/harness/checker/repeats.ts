import type { DeliveryKey, Violation } from './history.ts';
import { isRemoved } from './index-history.ts';
import type { HistoryIndex } from './index-history.ts';

/**
 * I2: no request is made twice, except one that was in flight when a fault struck that may repeat it. A duplicate is a
 * request that arrived and is in the log of attempts neither by itself nor by another.
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

/** Of a deleted webhook the attempts that were under way are not recorded; they are no repetitions. */
export function repeatsOf(key: DeliveryKey, index: HistoryIndex): number {
  const received = index.receipts.get(key)?.length ?? 0;
  const recorded = index.attempts.get(key)?.length ?? 0;
  const unrecorded = isRemoved(key, index) ? 1 : 0;
  return Math.max(0, received - recorded - unrecorded);
}
