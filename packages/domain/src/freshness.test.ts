import { expect, test } from '@jest/globals';
import { isFresh } from './freshness.ts';

test.each([
  [0, 0, true],
  [0, 500, true],
  [0, 501, false],
  [1, 0, false],
  [7, 60_000, false],
])('after %i attempts, due for %i ms: fresh is %p', (attemptsMade, lateMs, fresh) => {
  expect(isFresh({ attemptsMade, lateMs })).toBe(fresh);
});
