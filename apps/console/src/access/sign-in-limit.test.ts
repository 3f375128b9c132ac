import { expect, test } from '@jest/globals';
import { SignInLimit } from './sign-in-limit.ts';

const wrong = (limit: SignInLimit, address: string, times: number) => {
  for (let n = 0; n < times; n += 1) limit.addWrong(address);
};

test('after five wrong keys an address waits for a minute, and others do not', () => {
  let nowMs = 0;
  const limit = new SignInLimit(() => nowMs);
  wrong(limit, '192.0.2.1', 4);
  expect(limit.waitSeconds('192.0.2.1')).toBe(0);
  wrong(limit, '::ffff:192.0.2.1', 1);
  expect(limit.waitSeconds('192.0.2.1')).toBe(60);
  expect(limit.waitSeconds('192.0.2.2')).toBe(0);
  nowMs += 59_001;
  expect(limit.waitSeconds('192.0.2.1')).toBe(1);
  nowMs += 1_000;
  expect(limit.waitSeconds('192.0.2.1')).toBe(0);
  wrong(limit, '192.0.2.1', 4);
  expect(limit.waitSeconds('192.0.2.1')).toBe(0);
});

test('a right key forgets the wrong ones before it', () => {
  const limit = new SignInLimit();
  wrong(limit, '192.0.2.1', 4);
  limit.forget('192.0.2.1');
  wrong(limit, '192.0.2.1', 4);
  expect(limit.waitSeconds('192.0.2.1')).toBe(0);
});

test('the last 10,000 addresses are remembered', () => {
  const limit = new SignInLimit(() => 0);
  for (const address of ['192.0.2.1', '192.0.2.2']) wrong(limit, address, 5);
  for (let n = 0; n < 9_999; n += 1) limit.addWrong(`10.0.${n >> 8}.${n % 256}`);
  expect(limit.waitSeconds('192.0.2.1')).toBe(0);
  expect(limit.waitSeconds('192.0.2.2')).toBe(60);
});
