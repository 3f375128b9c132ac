import { quantilesInWords } from '@postrider/testing';
import type { CauseEntry, Receipt } from '../harness/checker/history.ts';

/** Milliseconds from the end of each cause to the first arrival of its event, of events that have arrived. */
export function arrivalTimesMs(causes: readonly CauseEntry[], receipts: readonly Receipt[]): number[] {
  const arrivedAtMs = new Map<string, number>();
  for (const { eventId, arrivedAtMs: atMs } of receipts) {
    if (!arrivedAtMs.has(eventId)) arrivedAtMs.set(eventId, atMs);
  }
  return causes.flatMap(({ id, endedAtMs }) => {
    const atMs = id === null ? undefined : arrivedAtMs.get(id);
    return atMs === undefined ? [] : [Math.max(0, atMs - endedAtMs)];
  });
}

/** `p50 3 ms, p99 21 ms of 400` */
export function inWords(timesMs: readonly number[]): string {
  return `${quantilesInWords(timesMs, 0)} of ${timesMs.length}`;
}
