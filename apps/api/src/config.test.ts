import { expect, test } from '@jest/globals';
import { connectionShares } from './config.ts';

test.each([
  [10, { stores: 7, limiter: 2 }, { stores: 9, limiter: 0 }],
  [4, { stores: 2, limiter: 1 }, { stores: 3, limiter: 0 }],
  [1, { stores: 1, limiter: 1 }, { stores: 1, limiter: 0 }],
])('of %i connections, stores and limiter get theirs, and the wake-ups one', (size, inPostgres, inRedis) => {
  expect(connectionShares(size, true)).toEqual(inPostgres);
  expect(connectionShares(size, false)).toEqual(inRedis);
});
