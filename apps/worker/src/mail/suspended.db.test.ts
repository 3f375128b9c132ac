import { beforeEach, expect, test } from '@jest/globals';
import { retrySchedule } from '@postrider/domain';
import type { AccountId, EmailId } from '@postrider/domain';
import { Semaphore } from '@postrider/limits';
import { createMetrics } from '@postrider/runtime';
import { createMailOutbox, createMailWork } from '@postrider/store';
import { createRows, fakeClock, setupDatabase } from '@postrider/testing';
import { setupWorkerConnection } from '../../test/delivery-fixture.ts';
import { keepLog } from '../../test/kept-log.ts';
import { MailBatches } from './batches.ts';
import { sendMail } from './send.ts';
import type { MailStages } from './send.ts';

/* Mail that the API accepted before `account suspend`. */

const log = keepLog();
const database = setupDatabase();
const rows = createRows(database);
const db = setupWorkerConnection(database);
let stages: MailStages;
let given: EmailId[];
let emailId: EmailId;
let accountId: AccountId;

beforeEach(async () => {
  log.clear();
  given = [];
  const work = createMailWork(db, fakeClock(), { verifiedDomainsOnly: false });
  stages = {
    batches: new MailBatches(work, { leaseSeconds: 30, logger: log.logger }),
    providerSlots: new Semaphore(10),
    send: async (email) => {
      given.push(email.emailId);
      return { kind: 'accepted', providerMessageId: null, notifications: [] };
    },
    restThrottledSlot: async () => undefined,
    schedule: retrySchedule([30, 60]),
    leaseSeconds: 30,
    logger: log.logger,
    metrics: createMetrics('worker', { processMetrics: false }),
  };
  accountId = await rows.account();
  emailId = await rows.email(-1000, accountId);
});

const suspend = (at: string | null) =>
  database.query('update accounts set suspended_at = $2 where id = $1', [accountId, at]);

/** Makes everything due, and attempts it once. */
async function sendAll(): Promise<void> {
  await database.query('update email_sends set due_at = least(due_at, now()), leased_until = null');
  const jobs = await createMailOutbox(db.pool).claim({ lookAheadSeconds: 0, rowsMax: 10, leaseSeconds: 30 });
  await Promise.all(jobs.map((job) => sendMail(job, stages)));
}

const stateOf = async (id: EmailId) =>
  (await database.query('select status, error from emails where id = $1', [id]))[0];
/** Messages that count as sent to the provider. */
const counted = async () =>
  (await stages.metrics.mailSends.get()).values.reduce((sum, { value }) => sum + value, 0);
const events = async () => (await database.query('select type from events')).map(({ type }): unknown => type);

test('waits as when the provider is away, and is sent once the account is resumed', async () => {
  await suspend('2026-03-01Z');
  await sendAll();
  expect([given, await events()]).toEqual([[], []]);
  expect(await database.query('select attempts, leased_until from email_sends')).toEqual([
    { attempts: 1, leased_until: null },
  ]);
  expect(log.lines('mail.attempted')).toMatchObject([
    { email_id: emailId, outcome: 'retry', error: 'the account is suspended' },
  ]);
  expect(await counted()).toBe(0); // else one account pages the operator: less mail leaves than fails
  await suspend(null);
  await sendAll();
  expect([given, await events()]).toEqual([[emailId], ['email.sent']]);
  expect(await counted()).toBe(1);
});

test('fails when the account stays suspended, and its event says so', async () => {
  await suspend('2026-03-01Z');
  for (let attempt = 1; attempt <= 3; attempt += 1) await sendAll();
  expect([given, await events()]).toEqual([[], ['email.failed']]);
  const error = 'gave up after 3 attempts: the account is suspended';
  expect(await stateOf(emailId)).toEqual({ status: 'failed', error });
  expect(await counted()).toBe(0);
});

test('does not hold up that of another account', async () => {
  await suspend('2026-03-01Z');
  const other = await rows.email();
  await sendAll();
  expect(given).toEqual([other]);
  expect(await stateOf(other)).toMatchObject({ status: 'sent' });
});
