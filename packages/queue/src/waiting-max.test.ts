import { expect, test } from '@jest/globals';
import { waitingMax } from './waiting-max.ts';

test('the fast lane grows with the slots of the fleet, from 128 jobs on', () => {
  expect(waitingMax('fast', 600)).toBe(128);
  expect(waitingMax('fast', 6_000)).toBe(1_000);
});

test.each(['slow', 'mail'] as const)('%s never has more than 128 waiting jobs', (queue) => {
  expect(waitingMax(queue, 100_000)).toBe(128);
});
