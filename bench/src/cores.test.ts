import { availableParallelism, cpus } from 'node:os';
import { expect, test } from '@jest/globals';
import { usableCores } from '@postrider/testing';
import { UsageError } from './arguments.ts';
import { holdToCores } from './cores.ts';

test('the usable cores are those that the system lets this process run on', () => {
  expect(usableCores().length).toBeGreaterThanOrEqual(availableParallelism()); // a quota may lower this number
  expect(usableCores().length).toBeLessThanOrEqual(cpus().length);
});

test('nothing is held to more cores than there are', () => {
  const before = usableCores().length;
  expect(() => holdToCores(100_000)).toThrow(UsageError);
  expect(usableCores()).toHaveLength(before);
});
