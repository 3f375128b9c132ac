import { expect, test } from '@jest/globals';
import { fakeClock } from '@postrider/testing';
import { SignInLimit } from './sign-in-limit.ts';

const wrong = (limit: SignInLimit, address: string, times: number) => {
  for (let n = 0; n < times; n += 1) limit.addWrong(address);
};

test('after five wrong keys an address waits for a minute, and others do not', () => {
  const clock = fakeClock();
  const limit = new SignInLimit(clock);
  wrong(limit, '192.0.2.1', 4);
  expect(limit.waitSeconds('192.0.2.1')).toBe(0);
  wrong(limit, '::ffff:192.0.2.1', 1);
  expect(limit.waitSeconds('192.0.2.1')).toBe(60);
  expect(limit.waitSeconds('192.0.2.2')).toBe(0);
  clock.advance(59_001);
  expect(limit.waitSeconds('192.0.2.1')).toBe(1);
  clock.advance(1_000);
  expect(limit.waitSeconds('192.0.2.1')).toBe(0);
  wrong(limit, '192.0.2.1', 4);
  expect(limit.waitSeconds('192.0.2.1')).toBe(0);
});

test('a right key forgets the wrong ones before it', () => {
  const limit = new SignInLimit(fakeClock());
  wrong(limit, '192.0.2.1', 4);
  limit.forget('192.0.2.1');
  wrong(limit, '192.0.2.1', 4);
  expect(limit.waitSeconds('192.0.2.1')).toBe(0);
});
