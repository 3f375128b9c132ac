import { expect, test } from '@jest/globals';
import { intervalAfter, waitFor } from './wait-for.ts';

test('returns the first answer except undefined, null and false: zero and the empty text count', async () => {
  const answers = [undefined, null, false, 0] as const;
  let asked = 0;

  expect(await waitFor(() => answers[asked++], { what: 'a number', intervalMs: 1 })).toBe(0);
  expect(asked).toBe(4);
  expect(await waitFor(() => '', { what: 'a text' })).toBe('');
});

test('the error says what it waited for, and names the last error', async () => {
  const failing = waitFor(
    () => {
      throw new Error('connection refused');
    },
    { what: 'the server', timeoutMs: 5, intervalMs: 1 },
  );

  await expect(failing).rejects.toThrow('waited 5 ms for the server; last error: connection refused');
});

test('the longer it waits, the less often it asks', () => {
  expect([0, 400, 1_000, 5_000, 60_000].map(intervalAfter)).toEqual([20, 20, 50, 250, 500]);
});
