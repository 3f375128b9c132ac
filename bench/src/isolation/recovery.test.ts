import { describe, expect, test } from '@jest/globals';
import type { Arrival } from '../load/steady-load.ts';
import { medianBySecond, NOT_MEASURED, recoveryOf } from './recovery.ts';

const PER_SECOND = 10;
const WINDOW = { withinSeconds: 3, windowSeconds: 2 };

/** An event every 100 ms. `lateMs` gives the lateness for the second of its commit. */
function arrivals(seconds: number, lateMs: (second: number) => number): Arrival[] {
  return Array.from({ length: seconds * PER_SECOND + 1 }, (_, index) => {
    const committedAtMs = 5_000 + (index * 1000) / PER_SECOND;
    const second = Math.floor(index / PER_SECOND);
    return { begunAtMs: committedAtMs, committedAtMs, arrivedAtMs: committedAtMs + lateMs(second) };
  });
}

const undisturbed = arrivals(2, () => 20);
/** The disturbance is in second 1 and ends when second 2 begins. */
const overAtMs = 7_000;

describe('the recovery of an endpoint', () => {
  test('is its p99 of what is committed in the window, and the time until it was on time', () => {
    const disturbed = arrivals(8, (second) => (second === 0 ? 20 : second < 4 ? 900 : 30));
    expect(recoveryOf({ undisturbed, disturbed, overAtMs }, WINDOW)).toEqual({
      undisturbed: 20,
      after: 30,
      lateSeconds: 2,
      bySecond: [20, 900, 900, 900, 30, 30, 30, 30],
    });
  });

  test('an endpoint that stays late is late to the end of the load', () => {
    const disturbed = arrivals(8, (second) => second * 500);
    const { after, lateSeconds } = recoveryOf({ undisturbed, disturbed, overAtMs }, WINDOW);
    expect([after, lateSeconds]).toEqual([3_000, 6]);
  });

  test('an endpoint that never was late was late for no time', () => {
    const { lateSeconds } = recoveryOf({ undisturbed, disturbed: arrivals(8, () => 40), overAtMs }, WINDOW);
    expect(lateSeconds).toBe(0);
  });
});

test('the median by second ends with the shortest round', () => {
  const rounds = [[1, 9], [3], [2, 8, 7]].map((bySecond) => ({ ...NOT_MEASURED, bySecond }));
  expect(medianBySecond(rounds)).toEqual([[0, 2]]);
});
