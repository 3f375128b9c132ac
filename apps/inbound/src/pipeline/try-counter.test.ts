import { expect, test } from '@jest/globals';
import { TryCounter } from './try-counter.ts';

test('of more than 10,000 deferred messages the one that came longest ago is forgotten', () => {
  const tries = new TryCounter();
  const others = Array.from({ length: 9_999 }, (_, index) => `message ${index}`);
  for (const key of ['twice', 'once', 'twice', ...others]) tries.count(key);
  expect(tries.count('twice')).toBe(3);
  expect(tries.count('once')).toBe(1);
});
