import { afterEach, expect, jest, test } from '@jest/globals';
import { BoundedCalls } from './bounded-calls.ts';

afterEach(() => void jest.useRealTimers());

const never = new Promise<never>(() => undefined);
const LONG_MS = 60_000;
const late = () => new Error('too late');

test('a call settles as its work does', async () => {
  const calls = new BoundedCalls(LONG_MS, late);
  expect(await calls.run(async () => 'done')).toBe('done');
  await expect(calls.run(() => Promise.reject(new Error('refused')))).rejects.toThrow('refused');
});

test('a call that takes too long fails, and its signal aborts', async () => {
  const calls = new BoundedCalls(1, late);
  const signals: AbortSignal[] = [];
  const call = calls.run((signal) => {
    signals.push(signal);
    return never;
  });
  await expect(call).rejects.toThrow('too late');
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
});

test('closing ends the running calls and refuses later ones', async () => {
  const calls = new BoundedCalls(LONG_MS, late);
  const running = [calls.run(() => never), calls.run(() => never)];
  calls.close(new Error('closed'));
  for (const call of running) await expect(call).rejects.toThrow('closed');
  await expect(calls.run(async () => 'done')).rejects.toThrow('closed');
});

test('a call that has ended leaves no timer, which would keep the process running', async () => {
  jest.useFakeTimers();
  await new BoundedCalls(LONG_MS, late).run(async () => 'done');
  expect(jest.getTimerCount()).toBe(0);
});

test('closing does not abort the signal of a call that has ended', async () => {
  const calls = new BoundedCalls(LONG_MS, late);
  const signal = await calls.run(async (signal) => signal);
  calls.close(new Error('closed'));
  expect(signal.aborted).toBe(false);
});
