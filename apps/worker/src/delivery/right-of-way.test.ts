import { beforeEach, expect, test } from '@jest/globals';
import { createRightOfWay } from './right-of-way.ts';

let now: number;
let taken: ReturnType<typeof createRightOfWay>;

beforeEach(() => {
  now = 0;
  taken = createRightOfWay(() => now);
});

function givesWay(lateMs: number): boolean {
  return taken({ lateMs });
}

test('what is late lets the fresh go first', () => {
  expect(givesWay(500)).toBe(false);
  expect(givesWay(501)).toBe(true);
  expect(givesWay(0)).toBe(false);
});

test('among late ones only nobody waits, nor two seconds after the last fresh one', () => {
  expect(givesWay(60_000)).toBe(false);
  expect(givesWay(0)).toBe(false);
  now = 1_999;
  expect(givesWay(60_000)).toBe(true);
  now = 2_000;
  expect(givesWay(60_000)).toBe(false);
});

test('one that is less than half as late as another is held up by it, and does not wait as well', () => {
  givesWay(0);
  expect([givesWay(60_000), givesWay(29_999), givesWay(30_000)]).toEqual([true, false, true]);
});

test('the latest counts for two seconds', () => {
  givesWay(60_000);
  now = 1_999;
  expect([givesWay(0), givesWay(20_000)]).toEqual([false, false]);
  now = 2_000;
  expect(givesWay(20_000)).toBe(true);
  expect(givesWay(9_000)).toBe(false);
});
