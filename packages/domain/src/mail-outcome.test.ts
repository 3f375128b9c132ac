import { expect, test } from '@jest/globals';
import { decideMailOutcome } from './mail-outcome.ts';
import type { ProviderResult, MailOutcome } from './mail-outcome.ts';
import { retrySchedule } from './retry-schedule.ts';

const schedule = retrySchedule([30, 60]);
const accepted: ProviderResult = { kind: 'accepted', providerMessageId: 'p1', notifications: [] };
const refused: ProviderResult = { kind: 'refused', error: '550 no such user' };
const deferred: ProviderResult = { kind: 'deferred', error: '451 try later' };
const away: ProviderResult = { kind: 'deferred', error: 'no answer', code: 'ECONNRESET' };

test.each<[string, ProviderResult, number, MailOutcome]>([
  ['accepted mail is sent', accepted, 1, { kind: 'sent', result: accepted }],
  ['accepted mail is sent on the last try too', accepted, 3, { kind: 'sent', result: accepted }],
  [
    'refused mail fails at once, in the words of the provider',
    refused,
    1,
    { kind: 'failed', error: '550 no such user' },
  ],
  ['deferred mail waits its delay', deferred, 1, { kind: 'retry', delayMs: 30_000, error: '451 try later' }],
  [
    'deferred mail waits the next delay',
    deferred,
    2,
    { kind: 'retry', delayMs: 60_000, error: '451 try later' },
  ],
  [
    'deferred mail fails when its tries are used up',
    deferred,
    3,
    { kind: 'failed', error: 'gave up after 3 attempts: 451 try later' },
  ],
  [
    'a retry keeps the error code beside the words',
    away,
    1,
    { kind: 'retry', delayMs: 30_000, error: 'no answer', code: 'ECONNRESET' },
  ],
  [
    'a failure keeps the error code beside the words',
    away,
    3,
    { kind: 'failed', error: 'gave up after 3 attempts: no answer', code: 'ECONNRESET' },
  ],
])('%s', (_title, answer, attempt, outcome) => {
  expect(decideMailOutcome(answer, attempt, schedule)).toEqual(outcome);
});
