import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { EVENT_TYPES } from '@postrider/domain';
import type { AccountId, EmailId, EventId, EventType, WebhookId } from '@postrider/domain';
import { createRows, runs } from '@postrider/testing';
import type { TestDatabase } from '@postrider/testing';
import { setupPlanStore } from '../../test/plan-store.ts';
import { rowsRead } from '../../test/rows-read.ts';
import type { Database } from '../db/database.ts';
import { recipientKey } from '../db/sql/event-ctes.ts';
import { createEventCountStore } from './event-counts.ts';
import { createEventStore } from './events.ts';
import type { EventFilter } from './events.ts';
import { readEventStory } from './event-story.ts';
import { createWebhookEventStore } from './webhook-events.ts';
import type { WebhookEventFilter } from './webhook-events.ts';

/* A plan that is kept must not depend on how large the tables were when it was made (decision 0012). */

const GROWN_BY = runs({ usual: 10_000, long: 20_000 });
const READ_MAX = 1_000;
const LIMIT = 20;
const EMAIL = 'em_01jd0000000000000000000001' as EmailId;
const BOB = 'bob@b.example';
/** The first, and the second, recipient of many events. */
const ADA = 'ada@a.example';
const EVE = 'eve@a.example';
/** The event of both that only so many follow. */
const beforeLast = (events: number) => `evt_email.delivered${ADA},${EVE}${GROWN_BY - events}` as EventId;
const RARE = `evt_email.complained${BOB}1` as EventId;

let database: TestDatabase;
let db: Database;
let accountId: AccountId;
let webhookId: WebhookId;

const plans = setupPlanStore();
const ofStory = setupPlanStore();

/** Every statement is planned on short tables, and the tables grow. */
beforeAll(async () => {
  ({ db, database } = plans);
  const rows = createRows(database);
  accountId = await rows.account();
  webhookId = await rows.webhook({ accountId });
  await database.query(`update webhooks set created_at = '2001-01-01'`);
  for (const [, filter] of LISTS) await list(filter);
  for (const [, filter] of WEBHOOK_LISTS) await listOfWebhook(filter);
  await countRare();
  await find();
  await grow(3, 'email.complained', { email: EMAIL, recipients: [BOB] });
  for (const type of EVENT_TYPES.slice(0, 2)) await grow(GROWN_BY, type);
  await grow(GROWN_BY, 'email.delivered', { recipients: [ADA, EVE] });
  await grow(3, 'email.sent', { email: EMAIL, recipients: [ADA, BOB] });
  await growFates();
  await replayOld();
});

/** Writes old events of another account back, as replays of dead letters do. */
async function replayOld(count = 1): Promise<void> {
  await database.query(
    `insert into events (id, account_id, type, created_at, data, position)
     select 'evt_replayed' || $1 || '_' || n, 'acct_other', 'email.sent', now() - interval '40 days', '{}', null
     from generate_series(1, $1::int) n`,
    [count],
  );
}

/** Events of the account, one every second until now, each about a message of its own. */
async function grow(count: number, type: EventType, change: { email?: EmailId; recipients?: string[] } = {}) {
  const { email = null, recipients = [ADA] } = change;
  await database.query(
    `with fresh as (
       insert into events (id, account_id, type, created_at, data, recipients)
       select 'evt_' || $2 || $6 || n, $1, $2, now() - ($3 - n) * interval '1 s',
              '{"email_id":"' || coalesce($4, 'em_01je' || lpad(n::text, 22, '0')) || '"}',
              array(select ${recipientKey('$1::text', 'r.address')} from unnest($5::text[]) r (address))
       from generate_series(1, $3::int) n
       returning id, type, position, recipients)
     insert into event_recipients (key, type, position, event_id)
     select k.key, f.type, f.position, f.id from fresh f, unnest(f.recipients[2:]) k (key)`,
    [accountId, type, count, email, recipients, recipients.join()],
  );
  await database.query('select pg_stat_force_next_flush()');
}

/** One delivery, dead letter and attempt of the webhook for each event. */
async function growFates(): Promise<void> {
  for (const sql of [
    `insert into deliveries (event_id, webhook_id) select id, $1 from events`,
    `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status)
     select now(), 1, id, $1, 1, 1, 503 from events`,
    `insert into dead_letters (id, account_id, webhook_id, event_id, type, event_created_at, data, attempts, reason, last_error)
     select 'dl_' || id, account_id, $1, id, type, created_at, data, 8, 'rejected', 'x' from events`,
  ]) {
    await database.query(sql, [webhookId]);
  }
  await database.query('select pg_stat_force_next_flush()');
}

/** With the number of events that each finds. */
const LISTS: [string, EventFilter, number][] = [
  ['all', {}, LIMIT],
  ['of a type that few have', { type: 'email.complained' }, 3],
  ['of a message', { emailId: EMAIL }, 6],
  ['of a message and a type', { emailId: EMAIL, type: 'email.complained' }, 3],
  ['to a recipient who is the first or another', { recipient: BOB }, 6],
  ['to a recipient and of a type', { recipient: BOB, type: 'email.complained' }, 3],
  ['to a recipient and of a type that it never had', { recipient: ADA, type: 'email.bounced' }, 0],
  ['to a second recipient and of a type that it never had', { recipient: EVE, type: 'email.bounced' }, 0],
  ['to nobody', { recipient: 'nobody@b.example' }, 0],
  ['since a time to come', { since: new Date('2999-01-01') }, 0],
  ['until long ago, before an event that a replay wrote back', { until: new Date('2001-01-01') }, 0],
];

/** With the number of events that each finds, of those that have deliveries, dead letters and attempts. */
const WEBHOOK_LISTS: [string, WebhookEventFilter, number][] = [
  ['all', {}, LIMIT],
  ['of a type that few have', { type: 'email.complained' }, 3],
  ['of a message', { emailId: EMAIL }, 6],
  ['to a recipient', { recipient: BOB }, 6],
  ['to a recipient and of a type that it never had', { recipient: ADA, type: 'email.bounced' }, 0],
];

async function list(filter: EventFilter, after?: EventId) {
  return (await createEventStore(db).list(accountId, filter, { limit: LIMIT, after }))?.entries;
}

async function listOfWebhook(filter: WebhookEventFilter) {
  const page = await createWebhookEventStore(db).list(accountId, webhookId, filter, { limit: LIMIT });
  return typeof page === 'string' ? [] : page.entries;
}

const find = () => createWebhookEventStore(db).find(accountId, webhookId, RARE);

async function countRare() {
  const counted = await createEventCountStore(db).count(accountId, {
    types: ['email.complained'],
    since: new Date('2001-01-01'),
    until: new Date('2999-01-01'),
    period: 'day',
    timeZone: 'UTC',
    byDomain: true,
    byEmail: true,
    domainIds: null,
    emailIds: null,
  });
  return counted.kind === 'counted' ? counted.counts.filter(({ isTotal }) => isTotal) : [];
}

describe.each([
  ['before Postgres has counted the rows', false],
  ['once Postgres has counted the rows', true],
])('%s', (_when, isCounted) => {
  let before: number;

  beforeAll(async () => {
    if (isCounted) await database.query('analyze');
  });
  beforeEach(async () => void (before = await rowsRead(db.pool)));
  afterEach(async () => expect((await rowsRead(db.pool)) - before).toBeLessThan(READ_MAX));

  test.each(LISTS)('a list %s reads no more than it shows', async (_, filter, found) => {
    expect(await list(filter)).toHaveLength(found);
  });

  test('the last page to a second recipient reads none of the pages before', async () => {
    expect(await list({ recipient: EVE }, beforeLast(5))).toHaveLength(5);
  });

  test.each(WEBHOOK_LISTS)(
    'a list of a webhook’s events, %s, reads a few rows for each that it shows',
    async (_, filter, found) => {
      expect(await listOfWebhook(filter)).toHaveLength(found);
    },
  );

  test('an event of a webhook reads its own rows', async () => {
    expect(await find()).toMatchObject({ status: 'pending', attempts: 0 });
  });

  test('a count of a type that few have reads only its events', async () => {
    expect(await countRare()).toMatchObject([{ type: 'email.complained', events: 3, emails: 1 }]);
  });
});

test('a list until long ago reads the many events that replays wrote back, and then no more', async () => {
  const replayed = 10_001;
  await replayOld(replayed);
  await database.query('select pg_stat_force_next_flush()');
  const before = await rowsRead(db.pool);
  expect(await list({ until: new Date('2001-01-01') })).toEqual([]);
  const read = (await rowsRead(db.pool)) - before; // each in the index and in the table
  expect(read).toBeLessThan(2 * replayed + READ_MAX);
});

test('a story, planned while there was nothing, reads the rows of its event', async () => {
  ({ db, database } = ofStory);
  const rows = createRows(database);
  accountId = await rows.account();
  webhookId = await rows.webhook({ accountId });
  await database.query(`update webhooks set created_at = '2001-01-01'`);
  await grow(1, 'email.complained', { email: EMAIL, recipients: [BOB] });
  const story = () => readEventStory(db, RARE);
  await story();
  for (const type of EVENT_TYPES.slice(0, 2)) await grow(GROWN_BY, type);
  await growFates();
  for (const isCounted of [false, true]) {
    if (isCounted) await database.query('analyze');
    const before = await rowsRead(db.pool);
    expect((await story())?.webhooks).toMatchObject([{ webhookId, attemptsByDelivery: [[{ attempt: 1 }]] }]);
    expect((await rowsRead(db.pool)) - before).toBeLessThan(READ_MAX);
  }
});
