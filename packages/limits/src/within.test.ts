import { afterEach, expect, jest, test } from '@jest/globals';
import { settlesWithin, within } from './within.ts';

afterEach(() => void jest.useRealTimers());

const forever = () => new Promise<never>(() => undefined);

test('work in time gives its own result', async () => {
  await expect(
    within(
      async () => 'work',
      60_000,
      () => 'late',
    ),
  ).resolves.toBe('work');
  await expect(
    within(
      async () => Promise.reject(new Error('x')),
      60_000,
      () => 'late',
    ),
  ).rejects.toThrow('x');
});

test.each([0, -5, 1])('work that never ends is abandoned after %i ms', async (timeoutMs) => {
  await expect(within(forever, timeoutMs, () => 'late')).resolves.toBe('late');
});

test('a failure after the time limit is dropped', async () => {
  let fail: (error: Error) => void = () => undefined;
  const work = new Promise<string>((_resolve, reject) => (fail = reject));
  await expect(
    within(
      () => work,
      0,
      () => 'late',
    ),
  ).resolves.toBe('late');
  fail(new Error('too late'));
  await expect(work).rejects.toThrow('too late');
});

test('work in time leaves no timer, which would keep the process running', async () => {
  jest.useFakeTimers();
  await within(
    async () => 'work',
    60_000,
    () => 'late',
  );
  expect(jest.getTimerCount()).toBe(0);
});

test('settlesWithin tells whether work settles in time, whatever the result', async () => {
  await expect(settlesWithin(60_000, Promise.resolve('done'))).resolves.toBe(true);
  await expect(settlesWithin(60_000, Promise.reject(new Error('x')))).resolves.toBe(true);
  await expect(settlesWithin(0, forever())).resolves.toBe(false);
});
