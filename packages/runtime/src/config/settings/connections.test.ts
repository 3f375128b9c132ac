import { expect, test } from '@jest/globals';
import { poolShares } from './connections.ts';

test('the shares of a pool add up to its size, and a small size acts like 3', () => {
  const sums = [1, 2, 3, 4, 6, 1_000]
    .map((size) => poolShares(size))
    .map(({ leases, others }) => leases + others);
  expect(sums).toEqual([3, 3, 3, 4, 6, 1_000]);
});
