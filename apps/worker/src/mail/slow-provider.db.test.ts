import { beforeEach, describe, expect, test } from '@jest/globals';
import { newId, notificationDetailOf, retrySchedule } from '@postrider/domain';
import type { AccountId, ProviderNotification, ProviderResult } from '@postrider/domain';
import { Semaphore } from '@postrider/limits';
import { createMetrics } from '@postrider/runtime';
import type { Metrics } from '@postrider/runtime';
import { createMailOutbox, createMailWork, StoreUnavailableError } from '@postrider/store';
import type { MailClaim } from '@postrider/store';
import { createRows, fakeClock, setupDatabase, waitFor } from '@postrider/testing';
import { setupWorkerConnection } from '../../test/delivery-fixture.ts';
import { keepLog } from '../../test/kept-log.ts';
import { MailBatches } from './batches.ts';
import { outgoingMessage, sendMail } from './send.ts';
import type { MailStages } from './send.ts';

/* A provider that is slow, that defers some recipients, or that never confirms a message. */

const DELAYS_SECONDS = [30, 60];
const ALL = { lookAheadSeconds: 0, rowsMax: 10, leaseSeconds: 30 };

const clock = fakeClock('2026-03-01T12:00:00.000Z');
const log = keepLog();

const database = setupDatabase();
const rows = createRows(database);
const db = setupWorkerConnection(database);
let metrics: Metrics<'worker'>;
let accountId: AccountId;

beforeEach(async () => {
  metrics = createMetrics('worker', { processMetrics: false });
  accountId = await rows.account();
  await rows.webhook({ accountId });
  await rows.email(0, accountId);
});

function stagesWith(send: MailStages['send'], delaysSeconds = DELAYS_SECONDS, leaseSeconds = 30): MailStages {
  const work = createMailWork(db, clock, { verifiedDomainsOnly: false });
  return {
    batches: new MailBatches(work, { leaseSeconds, logger: log.logger }),
    providerSlots: new Semaphore(10),
    send,
    restThrottledSlot: async () => undefined,
    schedule: retrySchedule(delaysSeconds),
    leaseSeconds,
    logger: log.logger,
    metrics,
  };
}

/** The job of the next claim. A retry becomes due first. */
async function nextJob(): Promise<MailClaim> {
  await database.query('update email_sends set due_at = least(due_at, now()), leased_until = null');
  const [job] = await createMailOutbox(db.pool).claim(ALL);
  if (job === undefined) throw new Error('no mail is outstanding');
  return job;
}

const sends = () => database.query('select from email_sends');

async function email() {
  const [row] = await database.query('select status, last_event, error from emails');
  return row;
}

/** In the order in which they were written: their ids are of one millisecond. */
async function events(): Promise<[string, unknown][]> {
  const found = await database.query<{ type: string; data: string }>(
    'select e.type, e.data from events e join deliveries d on d.event_id = e.id order by d.id',
  );
  return found.map(({ type, data }) => [type, JSON.parse(data)]);
}

const types = async () => (await events()).map(([type]) => type);

test('provider and record may each take longer than a lease: no other worker gets the message meanwhile', async () => {
  const leaseSeconds = 4;
  const answers = Promise.withResolvers<void>();
  const answerLate: MailStages['send'] = async () => {
    await answers.promise;
    return { kind: 'accepted', providerMessageId: null, notifications: [] };
  };
  const stages = stagesWith(answerLate, DELAYS_SECONDS, leaseSeconds);
  const record = stages.batches.record.bind(stages.batches);
  let isLocked = true;
  stages.batches.record = async (taken, outcome) => {
    if (isLocked) throw new StoreUnavailableError(new Error('locked'));
    return record(taken, outcome);
  };
  const sending = sendMail(await nextJob(), stages);
  const taken = () => database.query('select from email_sends where taken_at is not null');
  await waitFor(async () => (await taken()).length > 0, { what: 'the message to be taken' });
  const claimed: MailClaim[] = [];
  for (const seconds of [1.25 * leaseSeconds, 2.5 * leaseSeconds]) {
    const overtime = `select from email_sends where taken_at < now() - interval '1 s' * ${seconds}`;
    await waitFor(
      async () => {
        claimed.push(...(await createMailOutbox(db.pool).claim(ALL)));
        return (await database.query(overtime)).length > 0;
      },
      { what: 'more than a lease to pass' },
    );
    answers.resolve();
  }
  expect(claimed).toEqual([]);
  isLocked = false;
  await sending;
  expect(await types()).toEqual(['email.sent']);
});

test('once the outcome is recorded, the lease is renewed no more', async () => {
  const answers = Promise.withResolvers<void>();
  let answer: Promise<void> = Promise.resolve();
  const stages = stagesWith(
    async () => {
      await answer;
      return { kind: 'accepted', providerMessageId: null, notifications: [] };
    },
    DELAYS_SECONDS,
    4,
  );
  const renewed: string[] = [];
  const renew = stages.batches.renew.bind(stages.batches);
  stages.batches.renew = async (taken) => {
    renewed.push(taken.emailId);
    return renew(taken);
  };
  await sendMail(await nextJob(), stages);
  const second = await rows.email(0, accountId);
  answer = answers.promise;
  const sending = sendMail(await nextJob(), stages);
  await waitFor(() => renewed.filter((id) => id === second).length > 1, { what: 'two renewals' });
  answers.resolve();
  await sending;
  expect(new Set(renewed)).toEqual(new Set([second]));
});

test('a message whose job comes early waits until it is due', async () => {
  await database.query(`update email_sends set due_at = now() + interval '1 s'`);
  const [job] = await createMailOutbox(db.pool).claim({ ...ALL, lookAheadSeconds: 60 });
  const dueAtSend: unknown[] = [];
  const stages = stagesWith(async () => {
    dueAtSend.push(...(await database.query('select due_at <= now() as due from email_sends')));
    return { kind: 'accepted', providerMessageId: null, notifications: [] };
  });
  await sendMail(job as MailClaim, stages);
  expect(dueAtSend).toEqual([{ due: true }]);
});

describe('recipients that the provider defers, while it accepts the message for others', () => {
  const words = '452 4.5.3 Too many recipients';
  const report = (
    type: 'email.delivery_delayed' | 'email.bounced',
    address: string,
  ): ProviderNotification => ({
    type,
    recipients: [address],
    detail: notificationDetailOf({ diagnostic: `smtp; ${words}` }),
  });
  /** Accepts all recipients of an attempt but these. */
  const acceptsBut = (...deferred: string[]): ProviderResult => ({
    kind: 'accepted',
    providerMessageId: null,
    notifications: deferred.map((address) => report('email.delivery_delayed', address)),
    deferred,
  });
  const asked: unknown[] = [];
  const sendAnswered = async (answer: ProviderResult) => {
    const sendToProvider: MailStages['send'] = async (message) => {
      asked.push(outgoingMessage(message, null).only);
      return answer;
    };
    await sendMail(await nextJob(), stagesWith(sendToProvider));
  };

  beforeEach(async () => {
    asked.length = 0;
    await database.query(`update emails set to_addresses = '{a@b.example,b@b.example,c@b.example}'`);
  });

  test('get it in further attempts, and nobody else does', async () => {
    await sendAnswered(acceptsBut('b@b.example', 'c@b.example'));
    expect(await types()).toEqual(['email.sent', 'email.delivery_delayed', 'email.delivery_delayed']);
    expect(await email()).toMatchObject({ status: 'sent', last_event: 'delivery_delayed' });
    await sendAnswered({ kind: 'deferred', error: 'no answer' });
    await sendAnswered(acceptsBut('c@b.example'));
    await sendAnswered(acceptsBut());
    expect(asked).toEqual([
      null,
      ['b@b.example', 'c@b.example'],
      ['b@b.example', 'c@b.example'],
      ['c@b.example'],
    ]);
    expect(await types()).toHaveLength(3);
    expect(await sends()).toEqual([]);
  });

  test('are soft-bounced when the attempts are used up', async () => {
    await sendAnswered(acceptsBut('b@b.example'));
    for (let attempt = 0; attempt < DELAYS_SECONDS.length; attempt += 1)
      await sendAnswered({ kind: 'deferred', error: words });
    expect((await events()).at(-1)).toMatchObject([
      'email.soft_bounced',
      { recipients: ['b@b.example'], detail: { diagnostic: `smtp; gave up after 3 attempts: ${words}` } },
    ]);
    expect(await email()).toMatchObject({ status: 'sent', error: null });
    expect(await sends()).toEqual([]);
  });

  test('bounce, and are suppressed, when the provider says so later', async () => {
    await sendAnswered(acceptsBut('b@b.example'));
    await sendAnswered({
      kind: 'refused',
      error: words,
      notifications: [report('email.bounced', 'b@b.example')],
    });
    expect(await types()).toEqual(['email.sent', 'email.delivery_delayed', 'email.bounced']);
    expect(await database.query('select address from suppressions')).toEqual([{ address: 'b@b.example' }]);
    expect(await sends()).toEqual([]);
  });

  test('get nothing when they were suppressed meanwhile, and no event says so', async () => {
    await sendAnswered(acceptsBut('b@b.example'));
    await database.query(
      `insert into suppressions values ($1, $2, 'b@b.example', '', 'manual', null, now())`,
      [newId('suppression', clock), accountId],
    );
    await sendAnswered({ kind: 'refused', error: 'every recipient is suppressed' });
    expect(await types()).toEqual(['email.sent', 'email.delivery_delayed']);
    expect(await sends()).toEqual([]);
  });
});

test('a refused message bounces the recipients that the provider named', async () => {
  const notifications = [
    { type: 'email.bounced', recipients: ['b@b.example'], detail: notificationDetailOf({}) },
  ] as const;
  const sendToProvider: MailStages['send'] = async () => ({
    kind: 'refused',
    error: '550 no',
    notifications,
  });
  await sendMail(await nextJob(), stagesWith(sendToProvider));
  expect(await types()).toEqual(['email.failed', 'email.bounced']);
  expect(await email()).toMatchObject({ status: 'failed', last_event: 'bounced', error: '550 no' });
  expect(await database.query('select address from suppressions')).toEqual([{ address: 'b@b.example' }]);
});

test('a slot whose message was throttled rests before its next message', async () => {
  const slots = new Semaphore(1);
  const rest = Promise.withResolvers<void>();
  const sent: string[] = [];
  const stages: MailStages = {
    ...stagesWith(async ({ emailId }) => {
      sent.push(emailId);
      return sent.length === 1
        ? { kind: 'throttled', error: 'Maximum sending rate exceeded.' }
        : { kind: 'accepted', providerMessageId: null, notifications: [] };
    }),
    providerSlots: slots,
    restThrottledSlot: () => rest.promise,
  };
  await rows.email(0, accountId);
  const jobs = await createMailOutbox(db.pool).claim(ALL);
  const sending = Promise.all(jobs.map((job) => sendMail(job, stages)));
  const freed = () => database.query('select from email_sends where claim = 2 and leased_until is null');
  await waitFor(async () => (await freed()).length > 0, { what: 'the throttled message to be freed' });
  expect(sent).toHaveLength(1);
  rest.resolve();
  await sending;
  expect(sent).toEqual(jobs.map(({ emailId }) => emailId));
  expect(await metrics.registry.metrics()).toContain('postrider_mail_throttled_total{service="worker"} 1');
});

test('a message that the provider throttles for longer than the schedule lasts is sent', async () => {
  let answer: ProviderResult = { kind: 'throttled', error: 'Maximum sending rate exceeded.' };
  const stages = stagesWith(async () => answer);
  for (let attempt = 0; attempt <= 2 * DELAYS_SECONDS.length; attempt += 1)
    await sendMail(await nextJob(), stages);
  expect(await types()).toEqual([]);
  answer = { kind: 'accepted', providerMessageId: null, notifications: [] };
  await sendMail(await nextJob(), stages);
  expect(await types()).toEqual(['email.sent']);
});

test('a message that the provider never confirms is sent three times at most', async () => {
  let copies = 0;
  const sendToProvider: MailStages['send'] = async () => {
    copies += 1;
    return { kind: 'unconfirmed', error: 'no answer' };
  };
  const stages = stagesWith(sendToProvider, [1, 1, 1, 1, 1, 1, 1]);
  await database.query(`update emails set to_addresses = '{b@b.example,B@B.example}'`); // one person
  while ((await sends()).length > 0) await sendMail(await nextJob(), stages);
  expect(copies).toBe(3);
  expect(await events()).toMatchObject([
    ['email.delivery_delayed', { recipients: ['b@b.example'] }],
    ['email.failed', { error: expect.stringContaining('may have delivered it') }],
  ]);
  expect(await metrics.registry.metrics()).toContain('postrider_mail_unconfirmed_total{service="worker"} 3');
});
