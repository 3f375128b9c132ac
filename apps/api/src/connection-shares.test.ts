import { expect, test } from '@jest/globals';
import { connectionShares } from './connection-shares.ts';

test.each([
  [10, { stores: 5, limiter: 2, keys: 2 }, { stores: 7, limiter: 0, keys: 2 }],
  [4, { stores: 1, limiter: 1, keys: 1 }, { stores: 2, limiter: 0, keys: 1 }],
  [1, { stores: 1, limiter: 1, keys: 1 }, { stores: 1, limiter: 0, keys: 1 }],
])(
  'a pool of %i connections is divided, with the limiter in Postgres and in Redis',
  (size, inPostgres, inRedis) => {
    expect(connectionShares(size, true)).toEqual(inPostgres);
    expect(connectionShares(size, false)).toEqual(inRedis);
  },
);
