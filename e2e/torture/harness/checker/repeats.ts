import type { DeliveryKey, Violation } from './history.ts';
import { isRemoved } from './index-history.ts';
import type { HistoryIndex } from './index-history.ts';

/**
 * I2: each request has an attempt in the log. One without is a repeat. Each fault that met the delivery in
 * flight allows one.
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
        text: `${repeats} repeats, and ${allowed} allowed: one for each fault that met it in flight`,
      },
    ];
  });
}

/** Attempts in flight of a deleted webhook are not recorded. They are no repeats. */
export function repeatsOf(key: DeliveryKey, index: HistoryIndex): number {
  const received = index.receipts.get(key)?.length ?? 0;
  const recorded = index.attempts.get(key)?.length ?? 0;
  const unrecorded = isRemoved(key, index) ? 1 : 0;
  return Math.max(0, received - recorded - unrecorded);
}
