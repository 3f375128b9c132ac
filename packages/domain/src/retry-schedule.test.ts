import { expect, test } from '@jest/globals';
import { CONTRACT_RETRY_DELAYS_SECONDS, delayAfter, retrySchedule } from './retry-schedule.ts';

/**
 * The meaning of a schedule. To change the contract's schedule, change `CONTRACT_RETRY_DELAYS_SECONDS` and
 * the first row. The total is the longest outage of an endpoint before its events become dead letters.
 */
test.each([
  {
    name: 'the contract: 30 s, then 1, 2, 4, 8, 16 and 32 minutes',
    seconds: CONTRACT_RETRY_DELAYS_SECONDS,
    delaysMs: [30_000, 60_000, 120_000, 240_000, 480_000, 960_000, 1_920_000],
    totalMs: 3_810_000, // 63.5 minutes: "about an hour"
  },
  { name: 'no retry at all', seconds: [], delaysMs: [], totalMs: 0 },
  { name: 'fractions of a second', seconds: [0.03, 0.06], delaysMs: [30, 60], totalMs: 90 },
  {
    name: 'what binary fractions cannot hold',
    seconds: [0.1001, 1.0005],
    delaysMs: [100, 1001],
    totalMs: 1101,
  },
])('$name', ({ seconds, delaysMs, totalMs }) => {
  const schedule = retrySchedule(seconds);
  expect(schedule).toEqual({ delaysMs });
  expect(schedule.delaysMs.reduce((sum, delay) => sum + delay, 0)).toBe(totalMs);
  expect(delaysMs.map((_, index) => delayAfter(schedule, index + 1))).toEqual(delaysMs);
  expect(delayAfter(schedule, delaysMs.length + 1)).toBeNull();
});

test('an attempt beyond the last one is never followed by another', () => {
  expect(delayAfter(retrySchedule([1]), 3)).toBeNull();
});
