import { expect, test } from '@jest/globals';
import { SHARED_POOL_MIN } from '@postrider/runtime';
import { connectionShares } from './connection-shares.ts';

test.each([
  [20, true, { stores: 9, requests: 6, keys: 2, limiter: 2 }],
  [20, false, { stores: 11, requests: 8, keys: 2, limiter: 0 }],
  [SHARED_POOL_MIN, true, { stores: 2, requests: 1, keys: 1, limiter: 1 }],
])(
  'a pool of %i connections is divided by kind of session (limiter in Postgres: %s)',
  (size, inPostgres, shares) => {
    expect(connectionShares(size, inPostgres)).toEqual({ ...shares, leases: 3, counts: 2, reads: 2 });
  },
);

test.each([true, false])(
  'the shares add up to the size of the pool (limiter in Postgres: %s)',
  (inPostgres) => {
    for (let size = SHARED_POOL_MIN; size <= 1_000; size += 1) {
      const { requests, ...shares } = connectionShares(size, inPostgres);
      expect(Object.values(shares).reduce((sum, share) => sum + share)).toBe(size);
      expect(requests).toBeLessThan(shares.stores);
    }
  },
);
