import { expect, test } from '@jest/globals';
import { connectionShares } from './connection-shares.ts';

test.each([
  [20, true, { stores: 9, requests: 6, keys: 2, limiter: 2 }],
  [20, false, { stores: 11, requests: 8, keys: 2, limiter: 0 }],
  [1, true, { stores: 2, requests: 1, keys: 1, limiter: 1 }],
])(
  'of %i connections, each kind of session gets its share (limiter in Postgres: %s)',
  (size, inPostgres, shares) => {
    expect(connectionShares(size, inPostgres)).toEqual({ ...shares, leases: 3, counts: 2, reads: 2 });
  },
);
