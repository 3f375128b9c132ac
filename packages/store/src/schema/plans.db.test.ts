import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId, notificationDetailOf, recordEvent } from '@postrider/domain';
import type { AccountId, EmailId, EventType, TopicId, WebhookId } from '@postrider/domain';
import { ACTOR, createRows, createTestDatabase, runs, setup, systemClock, waitFor } from '@postrider/testing';
import { draftOf } from '../../test/draft.ts';
import { growEmails, growSuppressions, growTopicsAndDomains } from '../../test/grow-tables.ts';
import { died, finished, retried } from '../../test/outcomes.ts';
import { takeHeld } from '../../test/taken-email.ts';
import { rowsRead } from '../../test/rows-read.ts';
import { openDatabase } from '../db/database.ts';
import type { Database } from '../db/database.ts';
import { createDeadLetterStore } from '../deliveries/dead-letters.ts';
import { CLAIM_LIMITS, leasedBy, requestFor } from '../../test/claim-fixture.ts';
import { createDeliveryOutbox } from '../deliveries/delivery-outbox.ts';
import { createDeliveryWork } from '../deliveries/delivery-work.ts';
import type { DeliveryWork, HeldDelivery } from '../deliveries/delivery-work.ts';
import { createEmailStore } from '../mail/emails.ts';
import { createMailWork } from '../mail/mail-work.ts';
import { createProviderNotificationStore } from '../mail/provider-notifications.ts';
import { createSuppressionStore } from '../mail/suppressions.ts';
import { createTopicStore } from '../mail/topics.ts';
import { createUnsubscribeStore } from '../mail/unsubscribes.ts';

/** So many rows that Postgres plans for a large table. */
const GROWN_BY = runs({ usual: 8_000, long: 20_000 });
/** More rows than any of the statements may read. A plan that was made before does not change with the number. */
const GROWN_SINCE_PLANNED = 4_000;
const READ_MAX = 1_000;
/** The largest batch of a worker, and how often a statement may read a row of it, with what belongs to the row. */
const BATCH = 200;
const READS_EACH_MAX = 15;

/** What a relay asks for. */
const CLAIM = { ...CLAIM_LIMITS, fastRowsMax: 128, slowRowsMax: 128, delayedRowsMax: 128 };

const database = setup(createTestDatabase, (opened) => opened.drop());
const rows = createRows(database);
let db: Database;
let work: DeliveryWork;

/** Opens one connection, which keeps the first plan that it makes. */
function connect(): void {
  db = openDatabase(
    { databaseUrl: database.url, size: 1, applicationName: 'plans-test', onError: () => undefined },
    { send: () => undefined, close: async () => undefined },
  );
  work = createDeliveryWork(db.pool, db.pool);
}

/** As many rows as a flood brings, sooner than Postgres looks at the tables again. */
async function grow(webhookId: WebhookId, count: number): Promise<void> {
  await growDeliveries(webhookId, count);
  await database.query(
    `insert into webhooks (id, account_id, endpoint, events, secret_key_id, secret_sealed)
     select 'wh_' || n, $2, endpoint, events, secret_key_id, secret_sealed
     from webhooks, generate_series(1, $1) n`,
    [count, await rows.account()],
  );
  await growSuppressions(database, await ownerOf(webhookId), count);
  await growEmails(database, webhookId, count);
  await forgetReads();
}

async function growDeliveries(webhookId: WebhookId, count: number): Promise<void> {
  await database.query(
    `with flood as (
       insert into events (id, account_id, type, created_at, data)
       select 'evt_' || n, 'acct_none', 'email.sent', now(), '{}' from generate_series(1, $2) n returning id)
     insert into deliveries (event_id, webhook_id) select id, $1 from flood`,
    [webhookId, count],
  );
  await forgetReads();
}

/** A session counts for itself for up to a second. What it has read until now is not counted later. */
async function forgetReads(): Promise<void> {
  await database.query('select pg_stat_force_next_flush()');
}

async function ownerOf(webhookId: WebhookId): Promise<AccountId> {
  const sql = 'select account_id as id from webhooks where id = $1';
  const [owner] = await database.query<{ id: AccountId }>(sql, [webhookId]);
  if (owner === undefined) throw new Error(`no webhook ${webhookId}`);
  return owner.id;
}

/** So many deliveries of one event, under their first claim. */
async function held(webhookId: WebhookId, count: number): Promise<HeldDelivery[]> {
  const eventId = await rows.event();
  const ids = await rows.deliveries(webhookId, { count, eventId });
  return ids.map((deliveryId) => ({ deliveryId, claim: 0, eventId, webhookId }));
}

/** A bounce of a message, by our id or by the provider's. */
async function takeReport(emailId: EmailId | null, providerMessageId: EmailId | null): Promise<void> {
  await database.query('update emails set provider_message_id = id where id = $1', [providerMessageId]);
  const address = `${emailId ?? providerMessageId}@b.example`;
  const suppress = [{ address, reason: 'bounce' as const }];
  const occurredAt = systemClock.now().toISOString();
  const detail = notificationDetailOf({});
  const event = { type: 'email.bounced', recipients: [address], occurredAt, detail } as const;
  const ids = { notificationId: address, emailId, providerMessageId, writtenEmailId: null };
  const outcome = await createProviderNotificationStore(db, systemClock).record({ ...ids, suppress, event });
  expect(outcome).toBe('recorded');
}

const USES: [string, (held: readonly HeldDelivery[], webhookId: WebhookId) => Promise<unknown>][] = [
  ['take', (held) => work.take(held, 30)],
  ['done', (held) => work.done(held.map((one) => finished(one)))],
  ['retry', (held) => work.retry(held.map((one) => retried(one)))],
  ['dead', (held) => work.dead(held.map((one) => died(one)))],
  [
    'release',
    (held) => createDeliveryOutbox(db.pool).release(held.map((one) => ({ ...one, leaseExpired: true }))),
  ],
  ['sweep', () => createDeliveryOutbox(db.pool).sweep('', 1_000, 60)],
  ['sweepOne', (_, webhookId) => createDeliveryOutbox(db.pool).sweepOne(webhookId, 60)],
  [
    'claim',
    (held, webhookId) =>
      createDeliveryOutbox(db.pool).claim([requestFor(webhookId, held.length)], {
        ...CLAIM,
        fastRowsMax: held.length,
      }),
  ],
  [
    'record-events',
    async (_, webhookId) => {
      const data = { email_id: 'em_1', from: 'a@a.example', subject: 'Hi', error: null };
      const accountId = await ownerOf(webhookId);
      await db.transactions.run((tx) =>
        recordEvent(tx, { type: 'email.sent', accountId, data }, systemClock),
      );
    },
  ],
  [
    'add-suppressions',
    async (_, webhookId) =>
      createSuppressionStore(db, systemClock).add(await ownerOf(webhookId), [
        `${newId('email', systemClock)}@b.example`,
      ]),
  ],
  [
    'remove-suppressions',
    async (_, webhookId) => {
      const keys = [{ id: newId('suppression', systemClock) }, { address: 'nobody@b.example' }];
      await createSuppressionStore(db, systemClock).remove(await ownerOf(webhookId), keys, null, ACTOR);
    },
  ],
  [
    'a list of suppressions by origin',
    async (_, webhookId) => {
      const newest = { limit: 20, cursor: null };
      await createSuppressionStore(db, systemClock).list(await ownerOf(webhookId), newest, 'complaint');
    },
  ],
  [
    'unsubscribe',
    async (_, webhookId) => {
      const accountId = await ownerOf(webhookId);
      const news = { name: 'News', description: null, defaultSubscription: 'opt_in' } as const;
      const topicId = await createTopicStore(db, systemClock).create(accountId, news);
      const subscription = { accountId, topicId, address: 'b@b.example' };
      await createUnsubscribeStore(db, systemClock).unsubscribe(subscription, 'page');
    },
  ],
  ['take-report', async () => takeReport(await rows.email(), null)],
  ['take-report behind its lock', async () => takeReport(null, await rows.email())],
  [
    'replay',
    async (_, webhookId) => {
      const letter = await rows.deadLetter(webhookId, await rows.event());
      expect(await createDeadLetterStore(db).replay(await ownerOf(webhookId), letter, ACTOR)).toBe(true);
    },
  ],
  [
    'replayMatching',
    async (_, webhookId) => {
      await rows.deadLetter(webhookId, await rows.event());
      const accountId = await ownerOf(webhookId);
      const replay = await createDeadLetterStore(db).replayMatching(accountId, { webhookId }, ACTOR);
      expect(replay).toMatchObject({ kind: 'replayed', remaining: 0 });
    },
  ],
  ['markHealth', (_, webhookId) => work.markHealth([{ webhookId, failing: true }])],
];

/** Those that take a batch. */
const BATCHED = new Set(['take', 'done', 'retry', 'dead', 'release', 'claim']);

describe('on large tables that have been counted', () => {
  let webhookId: WebhookId;

  beforeEach(connect);
  afterEach(() => db.close());
  beforeAll(async () => {
    await rows.clear();
    webhookId = await rows.webhook();
    await grow(webhookId, GROWN_BY);
  });

  test.each(USES.filter(([name]) => BATCHED.has(name)))(
    '%s reads the rows of a large batch once each, as those of a small one',
    async (_, use) => {
      const all = await held(webhookId, 4 + BATCH);
      await database.query('analyze');
      await use(all.slice(0, 4), webhookId);
      await forgetReads();
      const before = await rowsRead(db.pool);
      await use(all.slice(4), webhookId);
      expect((await rowsRead(db.pool)) - before).toBeLessThan(BATCH * READS_EACH_MAX);
    },
  );

  test('no statement is planned anew for its values', async () => {
    const all = await held(webhookId, 2 * USES.length);
    await database.query('analyze');
    // Postgres plans the first five uses of a statement for their values, unless the session forbids it.
    for (const use of USES.flatMap(([, each]) => [each, each])) await use(all.splice(-1), webhookId);
    const { rows: planned } = await db.pool.query<{ name: string }>(
      'select name from pg_prepared_statements where custom_plans > 0',
    );
    expect(planned).toEqual([]);
  });
});

describe('on tables that grew after every statement was planned', () => {
  let webhookId: WebhookId;

  beforeAll(async () => {
    await rows.clear();
    connect();
    webhookId = await rows.webhook();
    for (const [, use] of USES) await use(await held(webhookId, 1), webhookId);
    await grow(webhookId, GROWN_SINCE_PLANNED);
  });
  afterAll(() => db.close());

  test.each(USES)('%s reads no more', async (_, use) => {
    const some = await held(webhookId, 3);
    const before = await rowsRead(db.pool);
    await use(some, webhookId);
    expect((await rowsRead(db.pool)) - before).toBeLessThan(READ_MAX);
  });
});

describe('on tables that grow', () => {
  beforeEach(async () => {
    await rows.clear();
    connect();
  });
  afterEach(() => db.close());

  test.each(['after it was planned', 'and is not counted yet', 'and is counted'])(
    'a claim reads as many rows as the limit allows and no more, where a flood has come %s',
    async (when) => {
      const outbox = createDeliveryOutbox(db.pool);
      const webhookId = await rows.webhook();
      const claim = async () => leasedBy(await outbox.claim([requestFor(webhookId, 48)], CLAIM));
      if (when === 'after it was planned') await claim();
      await growDeliveries(webhookId, GROWN_BY);
      if (when === 'and is counted') await database.query('analyze');
      const before = await rowsRead(db.pool);
      expect(await claim()).toHaveLength(48);
      expect((await rowsRead(db.pool)) - before).toBeLessThan(READ_MAX);
    },
  );

  test('storing, releasing, taking and ending a message read no more when the tables have grown', async () => {
    const accountId = await rows.account();
    const webhookId = await rows.webhook({ accountId });
    const topicId = 'top_0' as TopicId;
    await growTopicsAndDomains(database, accountId, 1);
    const emails = createEmailStore(db, systemClock);
    const mail = createMailWork(db, systemClock, { verifiedDomainsOnly: true });
    const sendAndTake = async (): Promise<unknown> => {
      const drafts = [draftOf({ topicId })];
      const request = { accountId, kind: 'live', drafts, domains: ['0.example'], idempotency: null } as const;
      const sent = await emails.send(request);
      if (sent.kind !== 'stored') throw new Error(sent.kind);
      const job = { emailId: sent.ids[0] as EmailId, claim: 0 };
      await mail.release([job]);
      const taken = await takeHeld(mail, job);
      return (await mail.endTogether('sent', [{ email: taken, providerMessageId: 'p', error: null }])).size;
    };
    expect(await sendAndTake()).toBe(1);
    await grow(webhookId, GROWN_SINCE_PLANNED);
    await growTopicsAndDomains(database, accountId, GROWN_SINCE_PLANNED);
    const before = await rowsRead(db.pool);
    expect(await sendAndTake()).toBe(1);
    expect((await rowsRead(db.pool)) - before).toBeLessThan(READ_MAX);
  });

  test('a page of a list reads no more than it shows, however long the list is', async () => {
    const webhookId = await rows.webhook();
    const emails = createEmailStore(db, systemClock);
    await growEmails(database, webhookId, GROWN_BY);
    await forgetReads();
    const accountId = await ownerOf(webhookId);
    const before = await rowsRead(db.pool);
    const live = { accountId, kind: 'live' } as const;
    const first = await emails.list(live, { limit: 20, cursor: null });
    const last = first?.entries.at(-1);
    if (last === undefined) throw new Error('an empty page');
    const cursor = { side: 'after', id: last.id } as const;
    const second = await emails.list(live, { limit: 20, cursor });
    expect(second?.entries).toHaveLength(20);
    expect((await rowsRead(db.pool)) - before).toBeLessThan(READ_MAX);
  });

  test('a test key’s list of mail reads no more than it shows, however much live mail there is', async () => {
    const webhookId = await rows.webhook();
    const accountId = await ownerOf(webhookId);
    const emails = createEmailStore(db, systemClock);
    const drafts = [draftOf(), draftOf()];
    await emails.send({ accountId, kind: 'test', drafts, domains: [], idempotency: null });
    const list = () => emails.list({ accountId, kind: 'test' }, { limit: 20, cursor: null });
    await growEmails(database, webhookId, GROWN_BY);
    // Of an empty table two indexes look alike. Postgres counts a table within a minute of such growth, and plans anew.
    await database.query('analyze emails');
    await list();
    await forgetReads();
    const before = await rowsRead(db.pool);
    expect((await list())?.entries).toHaveLength(2);
    expect((await rowsRead(db.pool)) - before).toBeLessThan(READ_MAX);
  });

  test.each([
    ['of a webhook that has few, beside one that has many', { webhookId: true }],
    ['of a type that few are of', { type: 'email.clicked' }],
    ['of a reason that few have', { reason: 'attempts_exhausted' }],
  ] as const)('the list of dead letters %s, reads no more than it shows', async (_, wish) => {
    const accountId = await rows.account();
    const [noisy, quiet] = [await rows.webhook({ accountId }), await rows.webhook({ accountId })];
    const filter = 'webhookId' in wish ? { webhookId: quiet } : wish;
    const letters = createDeadLetterStore(db);
    await bury(quiet, 3, 'email.clicked', 'attempts_exhausted');
    expect((await letters.list(accountId, filter))?.entries).toHaveLength(3);
    await bury(noisy, GROWN_SINCE_PLANNED, 'email.sent', 'rejected');
    const before = await rowsRead(db.pool);
    expect((await letters.list(accountId, filter))?.entries).toHaveLength(3);
    expect((await rowsRead(db.pool)) - before).toBeLessThan(READ_MAX);
  });

  test.each([
    ['type', { type: 'email.clicked' }],
    ['reason', { reason: 'attempts_exhausted' }],
    ['type and reason', { type: 'email.sent', reason: 'attempts_exhausted' }],
    ['a time to come', { since: new Date('2999-01-01') }],
  ] as const)(
    'of a noisy webhook, few dead letters by %s are found and replayed by an index',
    async (_, filter) => {
      const accountId = await rows.account();
      const webhookId = await rows.webhook({ accountId });
      const letters = createDeadLetterStore(db);
      const use = async () => {
        const page = await letters.list(accountId, { webhookId, ...filter });
        const replay = await letters.replayMatching(accountId, { webhookId, ...filter }, ACTOR);
        return [page?.entries.length, replay];
      };
      await use();
      await bury(webhookId, GROWN_SINCE_PLANNED, 'email.sent', 'rejected');
      const before = await rowsRead(db.pool);
      expect(await use()).toEqual([0, { kind: 'replayed', replayed: 0, remaining: 0 }]);
      expect((await rowsRead(db.pool)) - before).toBeLessThan(READ_MAX);
    },
  );

  test('how many dead letters remain is counted in the index', async () => {
    const accountId = await rows.account();
    const webhookId = await rows.webhook({ accountId });
    const letters = createDeadLetterStore(db);
    const replay = (type?: EventType) => letters.replayMatching(accountId, { webhookId, type }, ACTOR);
    await replay();
    await bury(webhookId, GROWN_BY, 'email.sent', 'rejected');
    // The rows of pages that vacuum has not marked as visible to all are fetched.
    await waitFor(
      async () => {
        await database.query('vacuum dead_letters');
        const [table] = await database.query<{ marked: boolean }>(
          `select relallvisible = relpages as marked from pg_class where relname = 'dead_letters'`,
        );
        return table?.marked === true;
      },
      { what: 'every page to be visible to all' },
    );
    const fetched = async () => {
      await db.pool.query('select pg_stat_force_next_flush()');
      const { rows: tables } = await db.pool.query<{ n: number }>(
        `select (seq_tup_read + idx_tup_fetch)::int as n from pg_stat_user_tables where relname = 'dead_letters'`,
      );
      return tables[0]?.n ?? 0;
    };
    const before = await fetched();
    expect(await replay()).toEqual({ kind: 'replayed', replayed: 1_000, remaining: GROWN_BY - 1_000 });
    // Chosen, found again by their ids to be deleted; and the count looks at the pages that they are on.
    expect((await fetched()) - before).toBeLessThan(5 * 1_000);
  });
});

/** Dead letters of one event. */
async function bury(webhookId: WebhookId, count: number, type: string, reason: string): Promise<void> {
  await database.query(
    `insert into dead_letters (id, account_id, webhook_id, event_id, type, event_created_at, data, attempts, reason,
       last_error)
     select 'dl_' || $3 || $1 || n, $5, $1, 'evt_' || n, $3, now(), '{}', 8, $4::dead_letter_reason, 'x'
     from generate_series(1, $2) n`,
    [webhookId, count, type, reason, await ownerOf(webhookId)],
  );
  await forgetReads();
}
