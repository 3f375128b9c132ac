import { describe, expect, test } from '@jest/globals';
import { notificationDetailOf } from './event-data.ts';
import { decideMailOutcome } from './mail-outcome.ts';
import type { MailOutcome, MailProgress, ProviderNotification, ProviderResult } from './mail-outcome.ts';
import { retrySchedule } from './retry-schedule.ts';

const schedule = retrySchedule([30, 60]);
const BOTH = ['a@a.example', 'b@b.example'];
const delayed: ProviderNotification = {
  type: 'email.delivery_delayed',
  recipients: ['b@b.example'],
  detail: notificationDetailOf({ diagnostic: 'smtp; 452 full' }),
};
const bounced: ProviderNotification = { ...delayed, type: 'email.bounced' };
const accepted: ProviderResult = { kind: 'accepted', providerMessageId: 'p1', notifications: [] };
const partly: ProviderResult = { ...accepted, notifications: [delayed], deferred: ['b@b.example'] };
const refused: ProviderResult = { kind: 'refused', error: '550 no such user' };
const deferred: ProviderResult = { kind: 'deferred', error: '451 try later' };
const away: ProviderResult = { kind: 'deferred', error: 'no answer', code: 'ECONNRESET' };
const throttled: ProviderResult = { kind: 'throttled', error: 'Maximum sending rate exceeded.' };
const silent: ProviderResult = { kind: 'unconfirmed', error: 'silence' };

const sent: MailOutcome = { kind: 'sent', providerMessageId: 'p1', notifications: [], next: null };

function decide(answer: ProviderResult, progress: Partial<MailProgress> = {}): MailOutcome {
  const first = { attempt: 1, recipients: BOTH, isRest: false, unconfirmed: 0 };
  return decideMailOutcome(answer, { ...first, ...progress }, schedule);
}

/** A retry of the whole message after a delay, with nothing to report. */
function retried(delaySeconds: number, attempts: number) {
  const next = { delayMs: delaySeconds * 1000, attempts, unconfirmed: 0, rest: null };
  return { kind: 'retry', next, notifications: [] };
}

function softBounce(recipients: readonly string[], words: string): ProviderNotification {
  const reason = { bounce_type: 'Transient', bounce_sub_type: 'General', diagnostic: `smtp; ${words}` };
  return { type: 'email.soft_bounced', recipients, detail: notificationDetailOf(reason) };
}

test.each<[string, ProviderResult, number, object]>([
  ['accepted mail is sent', accepted, 1, sent],
  ['accepted mail is sent on the last try too', accepted, 3, sent],
  [
    'refused mail fails at once, in the words of the provider',
    refused,
    1,
    { kind: 'failed', error: '550 no such user', notifications: [] },
  ],
  ['deferred mail waits its delay', deferred, 1, { ...retried(30, 1), error: '451 try later' }],
  ['deferred mail waits the next delay', deferred, 2, { ...retried(60, 2), error: '451 try later' }],
  [
    'deferred mail fails when its tries are used up',
    deferred,
    3,
    { kind: 'failed', error: 'gave up after 3 attempts: 451 try later', notifications: [] },
  ],
  [
    'a retry keeps the error code beside the words',
    away,
    1,
    { ...retried(30, 1), error: 'no answer', code: 'ECONNRESET' },
  ],
  [
    'a failure keeps the error code beside the words',
    away,
    3,
    { kind: 'failed', error: 'gave up after 3 attempts: no answer', code: 'ECONNRESET', notifications: [] },
  ],
])('%s', (_title, answer, attempt, outcome) => {
  expect(decide(answer, { attempt })).toEqual(outcome);
});

test.each([1, 3, 100])('a throttled attempt does not count, also as attempt %i', (attempt) => {
  const rest = { attempt, isRest: true, recipients: ['b@b.example'], unconfirmed: 2 };
  const next = { delayMs: 4_000, attempts: attempt - 1 };
  expect(decide(throttled, { attempt })).toMatchObject({ kind: 'retry', next, notifications: [] });
  expect(decide(throttled, rest)).toMatchObject({
    kind: 'retry',
    next: { ...next, unconfirmed: 2, rest: ['b@b.example'] },
    notifications: [],
  });
});

test('a refused message reports the recipients that the provider named', () => {
  expect(decide({ ...refused, notifications: [bounced] })).toMatchObject({ notifications: [bounced] });
});

test('when its tries are used up, a message reports whom the provider turned down for good', () => {
  const answer = { ...deferred, notifications: [{ ...bounced, recipients: ['a@a.example'] }] };
  expect(decide(answer, { attempt: 3 })).toMatchObject({
    kind: 'failed',
    notifications: [{ type: 'email.bounced', recipients: ['a@a.example'] }],
  });
  expect(decide(answer)).toMatchObject({ kind: 'retry', notifications: [] });
});

describe('an attempt that the provider did not confirm', () => {
  test('waits the longest delay, and the event says that a copy may come', () => {
    expect(decide(silent)).toMatchObject({
      kind: 'retry',
      next: { delayMs: 60_000, attempts: 1, unconfirmed: 1, rest: null },
      notifications: [
        {
          type: 'email.delivery_delayed',
          recipients: BOTH,
          detail: { diagnostic: 'smtp; silence; it may be delivered, and a copy of it later' },
        },
      ],
    });
  });

  test('is reported once', () => {
    expect(decide(silent, { attempt: 2, unconfirmed: 1 })).toMatchObject({
      kind: 'retry',
      notifications: [],
    });
  });

  test('is the last when it is the third, whatever the schedule allows', () => {
    const patient = retrySchedule([1, 1, 1, 1, 1, 1, 1]);
    const progress = { attempt: 3, recipients: BOTH, isRest: false, unconfirmed: 2 };
    expect(decideMailOutcome(silent, progress, patient)).toMatchObject({
      kind: 'failed',
      error: 'gave up after 3 attempts: silence; an attempt without an answer may have delivered it',
    });
  });

  test.each([refused, deferred])('before a failure by %j is in its words', (answer) => {
    expect(decide(answer, { attempt: 3, unconfirmed: 1 })).toMatchObject({
      kind: 'failed',
      error: expect.stringContaining('an attempt without an answer may have delivered it'),
    });
  });
});

describe('recipients that were deferred, while the provider accepted the message for others', () => {
  const rest = { attempt: 2, recipients: ['b@b.example'], isRest: true, unconfirmed: 0 };

  test('are due as the rest of the message, after the first delay', () => {
    expect(decide(partly, { attempt: 3 })).toEqual({
      ...sent,
      notifications: [delayed],
      next: { delayMs: 30_000, attempts: 1, unconfirmed: 0, rest: ['b@b.example'] },
    });
  });

  test('are soft-bounced at once when the schedule has no further attempt', () => {
    const progress = { attempt: 1, recipients: BOTH, isRest: false, unconfirmed: 0 };
    expect(decideMailOutcome(partly, progress, retrySchedule([]))).toMatchObject({
      next: null,
      notifications: [{ type: 'email.soft_bounced', recipients: ['b@b.example'] }],
    });
  });

  test('have their own attempts, which begin again when some of them are accepted', () => {
    expect(decide(deferred, rest)).toMatchObject({
      kind: 'retry',
      next: { delayMs: 60_000, attempts: 2, rest: ['b@b.example'] },
      notifications: [],
    });
    expect(decide(partly, rest)).toMatchObject({ next: { attempts: 1 }, notifications: [] });
  });

  test('are sent without a further report when the provider accepts them', () => {
    expect(decide(accepted, rest)).toEqual(sent);
  });

  test.each<[string, ProviderResult, Partial<MailProgress>, ProviderNotification[]]>([
    [
      'the attempts are used up',
      deferred,
      { attempt: 3 },
      [softBounce(['b@b.example'], 'gave up after 3 attempts: 451 try later')],
    ],
    ['the message is refused', refused, {}, [softBounce(['b@b.example'], '550 no such user')]],
    [
      'the attempts are used up, and another is turned down for good',
      { ...deferred, notifications: [{ ...bounced, recipients: ['A@a.example'] }] },
      { attempt: 3, recipients: BOTH },
      [
        { ...bounced, recipients: ['A@a.example'] },
        softBounce(['b@b.example'], 'gave up after 3 attempts: 451 try later'),
      ],
    ],
    [
      'each is refused, and named in another way',
      { ...refused, notifications: [{ ...bounced, recipients: ['"B"@b.example'] }] },
      {},
      [{ ...bounced, recipients: ['"B"@b.example'] }],
    ],
    ['each is refused in words of its own', { ...refused, notifications: [bounced] }, {}, [bounced]],
    ['each is suppressed meanwhile', refused, { recipients: [] }, []],
  ])('end with a report when %s', (_when, answer, progress, notifications) => {
    expect(decide(answer, { ...rest, ...progress })).toMatchObject({ kind: 'failed', notifications });
  });
});
