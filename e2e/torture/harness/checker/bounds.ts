import { quantile } from '@postrider/testing';
import type { History, Violation } from './history.ts';

/** I8: trouble elsewhere does not hold up a healthy endpoint. */
export function findDelays({ neighbours, rules }: History): Violation[] {
  return neighbours.flatMap(({ quietMs, troubledMs }): Violation[] => {
    const [quiet, troubled] = [quantile(quietMs, 0.99), quantile(troubledMs, 0.99)];
    // NaN without a sample on one side: nothing was shown.
    if (troubled <= rules.neighbourRatioMax * quiet) return [];
    const text =
      `healthy endpoints waited ${troubled.toFixed(0)} ms (p99 of ${troubledMs.length}) beside the trouble, ` +
      `${quiet.toFixed(0)} ms (of ${quietMs.length}) before it`;
    return [{ invariant: 'I8', text }];
  });
}

/** I9: memory, files and connections stay within bounds. */
export function findExcesses({ use }: History): Violation[] {
  return use
    .filter(({ most, max }) => most > max)
    .map(({ what, unit, most, max }) => ({
      invariant: 'I9',
      text: `${what}: ${Math.ceil(most)} ${unit}, over ${max}`,
    }));
}
