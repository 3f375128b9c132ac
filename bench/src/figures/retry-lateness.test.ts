import { expect, test } from '@jest/globals';
import { retryLatenessMs } from './retry-lateness.ts';

test('a retry within the precision of the clocks is on time', () => {
  expect([-50, -1, 0, 7.5].map(retryLatenessMs)).toEqual([0, 0, 0, 7.5]);
});

test('a retry before its time breaks the contract, and the figure with it', () => {
  expect(() => retryLatenessMs(-51)).toThrow('a retry started 51 ms before it was due');
});
