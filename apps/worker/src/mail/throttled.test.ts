import { expect, test } from '@jest/globals';
import type { ProviderResult } from '@postrider/domain';
import { waitFor } from '@postrider/testing';
import { whileThrottled } from './throttled.ts';

const throttled: ProviderResult = { kind: 'throttled', error: 'Maximum sending rate exceeded.' };
const accepted: ProviderResult = { kind: 'accepted', providerMessageId: 'p1', notifications: [] };

/** A provider that gives these answers, the last one for ever. */
function setup(answers: readonly ProviderResult[], pausesMs: readonly number[]) {
  const stopping = new AbortController();
  const count = { sent: 0, throttled: 0 };
  const send = whileThrottled<string>({
    async send() {
      count.sent += 1;
      return answers[Math.min(count.sent, answers.length) - 1] as ProviderResult;
    },
    stopped: stopping.signal,
    onThrottled: () => (count.throttled += 1),
    pausesMs,
  });
  return { send, count, stopping };
}

test.each<[string, readonly ProviderResult[], ProviderResult, { sent: number; throttled: number }]>([
  ['is sent once when the provider takes it', [accepted], accepted, { sent: 1, throttled: 0 }],
  [
    'is sent again until the provider takes it',
    [throttled, throttled, accepted],
    accepted,
    { sent: 3, throttled: 2 },
  ],
  ['is given back when the pauses are over', [throttled], throttled, { sent: 4, throttled: 4 }],
])('a message %s', async (_what, answers, last, expected) => {
  const { send, count } = setup(answers, [1, 1, 1]);
  expect(await send('mail')).toEqual(last);
  expect(count).toEqual(expected);
});

test('a stop ends the pause, and the message is not sent again', async () => {
  const { send, count, stopping } = setup([throttled, accepted], [3_600_000]);
  const sending = send('mail');
  await waitFor(() => count.throttled === 1, { what: 'the provider to throttle the message' });
  stopping.abort();
  expect(await sending).toEqual(throttled);
  expect(await send('another')).toEqual(accepted);
  expect(count.sent).toBe(2);
});

test('a message that is throttled after the stop does not wait', async () => {
  const { send, count, stopping } = setup([throttled], [3_600_000]);
  stopping.abort();
  expect(await send('mail')).toEqual(throttled);
  expect(count.sent).toBe(1);
});
