import { beforeEach, expect, test } from '@jest/globals';
import { createRightOfWay } from './right-of-way.ts';

let now: number;
let taken: ReturnType<typeof createRightOfWay>;

beforeEach(() => {
  now = 0;
  taken = createRightOfWay(() => now);
});

function givesWay(lateMs: number, attemptsMade = 0): boolean {
  return taken({ lateMs, attemptsMade });
}

test('what is late lets the fresh go first', () => {
  expect(givesWay(500)).toBe(false);
  expect(givesWay(501)).toBe(true);
  expect(givesWay(0)).toBe(false);
});

test('a retry lets the fresh go first, and is no company for what is late', () => {
  expect(givesWay(0, 1)).toBe(false);
  expect(givesWay(60_000)).toBe(false);
  expect(givesWay(0)).toBe(false);
  expect(givesWay(0, 1)).toBe(true);
});

test('among late ones only nobody waits, nor two seconds after the last fresh one', () => {
  expect(givesWay(60_000)).toBe(false);
  expect(givesWay(0)).toBe(false);
  now = 1_999;
  expect(givesWay(60_000)).toBe(true);
  now = 2_000;
  expect(givesWay(60_000)).toBe(false);
});
