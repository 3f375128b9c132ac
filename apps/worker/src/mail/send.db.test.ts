import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId, retrySchedule } from '@postrider/domain';
import type { AccountId, EmailId, TopicId, WebhookId } from '@postrider/domain';
import { Semaphore } from '@postrider/limits';
import { createMailProvider } from '@postrider/mail';
import type { MailProvider } from '@postrider/mail';
import { createMetrics } from '@postrider/runtime';
import type { Metrics } from '@postrider/runtime';
import { createMailOutbox, createMailWork, createTopicStore, createUnsubscribeStore } from '@postrider/store';
import type { Database, MailClaim, TakenEmail } from '@postrider/store';
import {
  createRows,
  fakeClock,
  startFaultProxy,
  waitFor,
  withClient,
  setupDatabase,
} from '@postrider/testing';
import { openTestDatabase, setupWorkerConnection } from '../../test/delivery-fixture.ts';
import { keepLog } from '../../test/kept-log.ts';
import { MailBatches } from './batches.ts';
import { outgoingMessage, sendMail } from './send.ts';
import type { MailStages } from './send.ts';

const NOW = '2026-03-01T12:00:00.000Z';
const DELAYS_SECONDS = [30, 60];
/** Claims everything that is due. */
const ALL = { lookAheadSeconds: 0, rowsMax: 10, leaseSeconds: 30 };
const SANDBOX = { provider: 'sandbox', timeoutMs: 20_000, connectionsMax: 1 } as const;

const log = keepLog();

const database = setupDatabase();
const rows = createRows(database);
const db = setupWorkerConnection(database);
let directory: string;
let provider: MailProvider;
let metrics: Metrics<'worker'>;
let stages: MailStages;
let emailId: EmailId;
let accountId: AccountId;
let webhookId: WebhookId;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sandbox-'));
  provider = await createMailProvider({ ...SANDBOX, sandboxDir: directory });
});
afterAll(async () => {
  provider.close();
  await rm(directory, { recursive: true });
});
beforeEach(async () => {
  log.clear();
  metrics = createMetrics('worker', { processMetrics: false });
  stages = stagesOn(db);
  emailId = await rows.email();
  ({ accountId } = await sole<{ accountId: AccountId }>('select account_id as "accountId" from emails'));
  webhookId = await rows.webhook({ accountId });
});

/** A URL that names the topic only. */
const unsubscribeUrlOf = ({ draft }: TakenEmail): string | null =>
  draft.topicId === null ? null : `https://api.example/u/${draft.topicId}`;

function stagesOn(by: Database): MailStages {
  return {
    batches: new MailBatches(createMailWork(by, fakeClock(NOW), { verifiedDomainsOnly: false }), {
      leaseSeconds: 30,
      logger: log.logger,
    }),
    providerSlots: new Semaphore(10),
    send: async (email) => provider.send(outgoingMessage(email, unsubscribeUrlOf(email))),
    restThrottledSlot: async () => undefined,
    schedule: retrySchedule(DELAYS_SECONDS),
    leaseSeconds: 30,
    logger: log.logger,
    metrics,
  };
}

async function sole<Row extends object>(sql: string): Promise<Row> {
  const [row] = await database.query<Row & Record<string, unknown>>(sql);
  if (row === undefined) throw new Error(`no row: ${sql}`);
  return row;
}

async function addressedTo(...names: string[]): Promise<void> {
  const addresses = names.map((name) => `${name}@sandbox.postrider.example`);
  await database.query('update emails set to_addresses = $1', [addresses]);
}

async function aboutTopic(id: string): Promise<void> {
  await database.query(
    `insert into topics (id, account_id, name, default_subscription, created_at)
     values ($1, $2, 'News', 'opt_in', now())`,
    [id, accountId],
  );
  await database.query('update emails set topic_id = $1', [id]);
}

/** The job of the next claim. A retry becomes due first; a lease runs out first. */
async function nextJob(): Promise<MailClaim> {
  await database.query('update email_sends set due_at = least(due_at, now()), leased_until = null');
  const [job] = await createMailOutbox(db.pool).claim({ ...ALL, rowsMax: 1 });
  if (job === undefined) throw new Error('no mail is outstanding');
  return job;
}

const send = async () => sendMail(await nextJob(), stages);
const sends = () => database.query('select attempts, leased_until from email_sends');
const email = () => sole('select status, last_event, error, sent_at, provider_message_id from emails');

/** Each event with its data, oldest first. Checks that each event has its delivery. */
async function events(): Promise<[string, unknown][]> {
  const found = await database.query<{ type: string; data: string; webhookId: string | null }>(
    `select e.type, e.data, d.webhook_id as "webhookId" from events e left join deliveries d on d.event_id = e.id order by d.id`,
  );
  expect(found.map((event) => event.webhookId)).toEqual(found.map(() => webhookId));
  return found.map(({ type, data }) => [type, JSON.parse(data)]);
}

const result = (error: string | null) => ({ email_id: emailId, from: 'a@a.example', subject: 'Hi', error });

test('an accepted message is sent: its row goes, and the webhooks get email.sent', async () => {
  await send();
  expect(await sends()).toEqual([]);
  expect(await email()).toEqual({
    status: 'sent',
    last_event: 'sent',
    error: null,
    sent_at: expect.any(Date),
    provider_message_id: expect.stringContaining(emailId),
  });
  expect(await events()).toEqual([['email.sent', result(null)]]);
  expect(await readdir(directory)).toContain(`${emailId}.eml`);
  const { id: eventId } = await sole<{ id: string }>('select id from events');
  expect(log.lines('mail.attempted')).toMatchObject([
    { email_id: emailId, account_id: accountId, attempt: 1, outcome: 'sent', event_id: eventId },
  ]);
  expect(log.text()).not.toMatch(/Hello|@[ab]\.example/);
  expect(await metrics.registry.metrics()).toContain(
    'postrider_mail_sends_total{result="sent",service="worker"} 1',
  );
});

test.each([
  ['accepted', 'delivered'],
  ['refused', 'refused'],
])('a message that was %s has ended exactly when its event exists: one transaction', async (_, name) => {
  await addressedTo(name);
  await database.query(
    `create function refuse() returns trigger language plpgsql as $$ begin raise 'no more events'; end $$`,
  );
  await database.query('create trigger refuse before insert on deliveries execute function refuse()');
  const job = await nextJob();
  const sending = sendMail(job, stages);
  await expect(sending).rejects.toThrow('no more events');
  await database.query('drop function refuse cascade');
  expect(await sends()).toEqual([{ attempts: 0, leased_until: expect.any(Date) }]);
  expect(await email()).toMatchObject({ status: 'queued', last_event: 'queued', error: null, sent_at: null });
  expect(await events()).toEqual([]);
  expect(log.lines('mail.attempted')).toEqual([]);
});

test('a refused message has failed with the provider’s words', async () => {
  await addressedTo('refused');
  await send();
  const error = '550 5.7.1 message refused by the sandbox for <refused@sandbox.postrider.example>';
  expect(await sends()).toEqual([]);
  expect(await email()).toMatchObject({ status: 'failed', last_event: 'failed', error, sent_at: null });
  expect(await events()).toEqual([['email.failed', result(error)]]);
});

test('a deferred message is tried again after each delay, and has failed when the tries are used up', async () => {
  await addressedTo('deferred');
  for (const [index, delaySeconds] of DELAYS_SECONDS.entries()) {
    await send();
    expect(await sends()).toEqual([{ attempts: index + 1, leased_until: null }]);
    // It is due after the delay, less the time that the test has taken since.
    expect(
      await sole(
        `select ceil(extract(epoch from due_at - now()) / 30) * 30 = ${delaySeconds} as due from email_sends`,
      ),
    ).toEqual({ due: true });
    expect(await events()).toEqual([]);
  }
  await send();
  const error =
    'gave up after 3 attempts: 451 4.3.2 the sandbox is not available for <deferred@sandbox.postrider.example>';
  expect(await sends()).toEqual([]);
  expect(await email()).toMatchObject({ status: 'failed', error });
  expect(await events()).toEqual([['email.failed', result(error)]]);
  const { id: eventId } = await sole<{ id: string }>('select id from events');
  expect(log.lines('mail.attempted').map((line) => [line['outcome'], line['event_id']])).toEqual([
    ['retry', undefined],
    ['retry', undefined],
    ['failed', eventId],
  ]);
});

test('when the provider is unreachable, the event has a plain sentence and the log has the error code', async () => {
  const sendToProvider: MailStages['send'] = async () => ({
    kind: 'deferred',
    error: 'no answer',
    code: 'ECONNRESET',
  });
  stages = { ...stages, send: sendToProvider };
  for (let attempt = 0; attempt <= DELAYS_SECONDS.length; attempt += 1) await send();
  expect(await events()).toEqual([['email.failed', result('gave up after 3 attempts: no answer')]]);
  expect(log.lines('mail.attempted').map((line) => line['error'])).toEqual([
    'no answer (ECONNRESET)',
    'no answer (ECONNRESET)',
    'gave up after 3 attempts: no answer (ECONNRESET)',
  ]);
});

test('a message that was deferred once can still be sent', async () => {
  await addressedTo('deferred');
  await send();
  await addressedTo('anyone');
  await send();
  expect((await events()).map(([type]) => type)).toEqual(['email.sent']);
});

test('each report in the provider’s answer becomes an event after email.sent', async () => {
  await addressedTo('delivered', 'bounced', 'bounced+2', 'soft-bounced', 'complained', 'delayed', 'anyone');
  await send();
  const recorded = await events();
  expect(recorded.map(([type]) => type)).toEqual([
    'email.sent',
    'email.delivered',
    'email.bounced',
    'email.soft_bounced',
    'email.complained',
    'email.delivery_delayed',
  ]);
  expect(recorded[2]?.[1]).toMatchObject({
    email_id: emailId,
    recipients: ['bounced@sandbox.postrider.example', 'bounced+2@sandbox.postrider.example'],
    occurred_at: NOW,
    detail: { bounce_type: 'Permanent', complaint_type: null },
  });
  expect(await email()).toMatchObject({ status: 'sent', last_event: 'complained' });
});

test('with reports in the provider’s answer, the log names the event that ended the message', async () => {
  await addressedTo('bounced');
  await send();
  const { id: eventId } = await sole<{ id: string }>(`select id from events where type = 'email.sent'`);
  expect(log.lines('mail.attempted')).toMatchObject([{ outcome: 'sent', event_id: eventId }]);
});

test('a report never suppresses a recipient of the sandbox', async () => {
  await addressedTo('bounced', 'complained');
  await send();
  await rows.email();
  await database.query('update emails set account_id = $1', [accountId]);
  await addressedTo('bounced', 'complained');
  await send();
  const once = ['email.sent', 'email.bounced', 'email.complained'];
  expect((await events()).map(([type]) => type)).toEqual([...once, ...once]);
  expect(await database.query('select address from suppressions')).toEqual([]);
});

describe('with suppressed recipients', () => {
  const suppress = async (name: string) =>
    database.query(`insert into suppressions values ($1, $2, $3, '', 'bounce', null, now())`, [
      newId('suppression', fakeClock(NOW)),
      accountId,
      `${name}@sandbox.postrider.example`,
    ]);

  test('the others get the message, and the message lists the suppressed ones', async () => {
    await addressedTo('Anyone', 'gone');
    await suppress('gone');
    await send();
    expect((await events()).map(([type]) => type)).toEqual(['email.sent']);
    expect(await sole('select suppressed_addresses from emails')).toEqual({
      suppressed_addresses: ['gone@sandbox.postrider.example'],
    });
    const source = await readFile(join(directory, `${emailId}.eml`), 'utf8');
    expect(source).toContain('Anyone@sandbox.postrider.example');
    expect(source).not.toContain('gone@');
  });

  test('and no others, the message fails and the provider does not get it', async () => {
    await addressedTo('Gone', 'refused');
    await suppress('gone');
    await suppress('refused');
    await send();
    expect(await events()).toEqual([['email.failed', result('every recipient is suppressed')]]);
    expect(await email()).toMatchObject({ status: 'failed', error: 'every recipient is suppressed' });
    expect(await readdir(directory)).not.toContain(`${emailId}.eml`);
    expect(await sole('select cardinality(suppressed_addresses) as count from emails')).toEqual({ count: 2 });
  });
});

test('attachments reach the provider byte for byte, and a topic its unsubscribe address', async () => {
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  await database.query(`insert into email_attachments values ($1, 0, 'a.bin', $2, null, null)`, [
    emailId,
    bytes,
  ]);
  await aboutTopic('top_1');
  await send();
  const source = await readFile(join(directory, `${emailId}.eml`), 'utf8');
  expect(source).toContain('filename=a.bin');
  expect(source.replaceAll('\r\n', '')).toContain(bytes.toString('base64'));
  expect(source).toContain('List-Unsubscribe: <https://api.example/u/top_1>');
});

test('a message about a topic that was deleted meanwhile fails, and the provider does not get it', async () => {
  await aboutTopic('top_2');
  const unsubscribed = { accountId, topicId: 'top_2' as TopicId, address: 'b@b.example' };
  await createUnsubscribeStore(db, fakeClock(NOW)).unsubscribe(unsubscribed, 'one_click');
  await createTopicStore(db, fakeClock(NOW)).delete(accountId, unsubscribed.topicId);
  await database.query('delete from events');
  await send();
  const error = 'the topic of the message was deleted';
  expect(await events()).toEqual([['email.failed', result(error)]]);
  expect(await email()).toMatchObject({ status: 'failed', last_event: 'failed', error });
  expect(await readdir(directory)).not.toContain(`${emailId}.eml`);
});

describe('the fence', () => {
  test.each(['anyone', 'refused', 'deferred'])(
    '%s: a late answer changes nothing after another worker has taken the message',
    async (name) => {
      await addressedTo(name);
      const [held, reached] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const sendToProvider: MailStages['send'] = async (message) => {
        reached.resolve();
        await held.promise;
        return stages.send(message);
      };
      const late = sendMail(await nextJob(), { ...stages, send: sendToProvider });
      await reached.promise;
      const defer: MailStages['send'] = async () => ({ kind: 'deferred', error: 'busy' });
      await sendMail(await nextJob(), { ...stages, send: defer });
      const before = await sole('select * from email_sends');
      held.resolve();
      await late;
      expect(await sole('select * from email_sends')).toEqual(before);
      expect(await email()).toMatchObject({ status: 'queued' });
      expect(await events()).toEqual([]);
      expect(log.lines('mail.attempted').map((line) => line['unrecorded'])).toEqual([undefined, true]);
    },
  );

  test('stale or duplicate jobs send nothing', async () => {
    const job = await nextJob();
    let sent = 0;
    const sendToProvider: MailStages['send'] = async (message) => {
      sent += 1;
      return stages.send(message);
    };
    const counting = { ...stages, send: sendToProvider };
    await Promise.all([sendMail(job, counting), sendMail(job, counting)]);
    await sendMail(job, counting);
    expect(sent).toBe(1);
    expect((await events()).map(([type]) => type)).toEqual(['email.sent']);
  });
});

/** Sends six messages at once, while Postgres refuses a statement about the first. */
async function sendAllButOne(refused: string): Promise<void> {
  const ids = [emailId, ...(await Promise.all(Array.from({ length: 5 }, () => rows.email())))];
  await database.query(
    `create function refuse() returns trigger language plpgsql as $$ begin raise 'not this one'; end $$`,
  );
  await database.query(`create trigger refuse before ${refused} execute function refuse()`);
  const jobs = await createMailOutbox(db.pool).claim(ALL);
  const ends = await Promise.allSettled(jobs.map(async (job) => sendMail(job, stages)));
  await database.query('drop function refuse cascade');
  expect(ends.filter(({ status }) => status === 'rejected')).toHaveLength(1);
  const ended = await database.query('select id, status from emails');
  expect(new Map(ended.map((row) => [row['id'], row['status']]))).toEqual(
    new Map(ids.map((id) => [id, id === emailId ? 'queued' : 'sent'])),
  );
}

test('when a batch cannot be recorded, each message is recorded alone; only the faulty one stays queued', async () => {
  await sendAllButOne(`insert on events for each row when (new.data::json ->> 'email_id' = '${emailId}')`);
  expect(log.lines('mail ends one by one')).not.toEqual([]);
});

test('messages are taken one by one when a batch fails; only the faulty one fails', async () => {
  await sendAllButOne(
    `update on email_sends for each row
     when (new.email_id = '${emailId}' and new.unrecorded > old.unrecorded)`,
  );
});

test('a message with an earlier fault is taken alone', async () => {
  const other = await rows.email();
  const jobs = await createMailOutbox(db.pool).claim(ALL);
  await withClient(database.url, async (session) => {
    await session.query('begin');
    await session.query('select from email_sends where email_id = $1 for update', [emailId]);
    const sending = jobs.map(async (job) =>
      sendMail({ ...job, faults: job.emailId === emailId ? 1 : 0 }, stages),
    );
    await waitFor(
      async () =>
        (await database.query(`select from emails where id = '${other}' and status = 'sent'`)).length > 0,
      { what: 'the other message to be sent' },
    );
    expect(await database.query(`select status from emails where id = '${emailId}'`)).toEqual([
      { status: 'queued' },
    ]);
    await session.query('rollback');
    await Promise.all(sending);
  });
});

test('a message accepted while Postgres is unavailable is recorded later, and sent once', async () => {
  const proxy = await startFaultProxy(database.url);
  const proxiedDb = openTestDatabase(proxy.url(database.url));
  try {
    const proxiedStages = stagesOn(proxiedDb);
    const sendToProvider: MailStages['send'] = async (message) => {
      const answer = await proxiedStages.send(message);
      proxy.takeAway();
      return answer;
    };
    const sent = sendMail(await nextJob(), { ...proxiedStages, send: sendToProvider });
    await waitFor(() => proxy.refused >= 2, { what: 'two failed tries to record it' });
    expect(await events()).toEqual([]);
    proxy.restore();
    await sent;
    expect((await events()).map(([type]) => type)).toEqual(['email.sent']);
    expect(log.lines('mail.attempted')).toHaveLength(1);
  } finally {
    await proxiedDb.close();
    await proxy.close();
  }
});
