import type { CauseEntry, FaultEntry, History, Receipt } from './history.ts';

/** The time between a copy of Postgres and its restore. Answers and writes of this time are lost. */
interface Gap {
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * The history without the lost time. A cause of that time may exist or not. Its requests are for events that
 * are gone, or that are delivered again.
 */
export function withoutWhatWasLost(history: History): History {
  const gaps = history.faults.flatMap(gapsOf);
  if (gaps.length === 0) return history;
  return {
    ...history,
    causes: history.causes.map((cause) =>
      gaps.some((gap) => overlaps(cause, gap)) ? { ...cause, outcome: 'unknown' } : cause,
    ),
    receipts: history.receipts.filter((receipt) => !gaps.some((gap) => isWithin(receipt, gap))),
  };
}

function gapsOf({ losesSinceMs, endedAtMs }: FaultEntry): Gap[] {
  return losesSinceMs === undefined ? [] : [{ fromMs: losesSinceMs, toMs: endedAtMs }];
}

function overlaps({ beganAtMs, endedAtMs }: CauseEntry, { fromMs, toMs }: Gap): boolean {
  return beganAtMs <= toMs && endedAtMs >= fromMs;
}

function isWithin({ arrivedAtMs }: Receipt, { fromMs, toMs }: Gap): boolean {
  return arrivedAtMs >= fromMs && arrivedAtMs <= toMs;
}
