import { expect, test } from '@jest/globals';
import { within } from './within.ts';

const forever = () => new Promise<never>(() => undefined);

test('work that is in time gives its own result', async () => {
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

test.each([0, -5, 1])('work that never ends is given up after %i ms', async (timeoutMs) => {
  await expect(within(forever, timeoutMs, () => 'late')).resolves.toBe('late');
});

test('work that fails after it was given up troubles nobody', async () => {
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
