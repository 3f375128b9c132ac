import { expect, test } from '@jest/globals';
import { fakeClock } from './clock.ts';

test('a fake clock stands still until it is moved', () => {
  const clock = fakeClock('2026-03-01T12:00:00.000Z');
  const before = clock.now();
  clock.advance(1_500);

  expect(before.toISOString()).toBe('2026-03-01T12:00:00.000Z');
  expect(clock.now().toISOString()).toBe('2026-03-01T12:00:01.500Z');
  clock.set(before);
  expect(clock.now()).toEqual(before);
});
