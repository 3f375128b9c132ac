import { availableParallelism } from 'node:os';
import { expect, test } from '@jest/globals';
import { UsageError } from './arguments.ts';
import { holdToCores, usableCores } from './cores.ts';

test('the usable cores are those that the system lets this process run on', () => {
  expect(usableCores()).toHaveLength(availableParallelism());
});

test('nothing is held to more cores than there are', () => {
  expect(() => holdToCores(100_000)).toThrow(UsageError);
  expect(usableCores()).toHaveLength(availableParallelism());
});
