import { beforeEach, expect, test } from '@jest/globals';
import { EVENT_TYPES } from '@postrider/domain';
import type { AccountId, EmailId, EventId, EventType, WebhookId } from '@postrider/domain';
import { createRows } from '@postrider/testing';
import type { TestDatabase } from '@postrider/testing';
import { setupPlanStore } from '../../test/plan-store.ts';
import { rowsRead } from '../../test/rows-read.ts';
import type { Database } from '../db/database.ts';
import { recipientKey } from '../db/sql/event-ctes.ts';
import { createEventCountStore } from './event-counts.ts';
import { createEventStore } from './events.ts';
import type { EventFilter, EventStore } from './events.ts';
import { readEventStory } from './event-story.ts';
import { createWebhookEventStore } from './webhook-events.ts';
import type { WebhookEventFilter } from './webhook-events.ts';

/* A plan that is kept must not depend on how large the tables were when it was made (decision 0012). */

const GROWN_BY = 20_000;
const READ_MAX = 1_000;
const LIMIT = 20;
const EMAIL = 'em_01jd0000000000000000000001' as EmailId;
const BOB = 'bob@b.example';

let database: TestDatabase;
let db: Database;
let events: EventStore;
let accountId: AccountId;

const plans = setupPlanStore();
beforeEach(async () => {
  ({ db, database } = plans);
  events = createEventStore(db);
  accountId = await createRows(database).account();
});

/** Events of the account, one every second until now, each about a message of its own. */
async function grow(count: number, type: EventType, change: { email?: EmailId; recipients?: string[] } = {}) {
  const { email = null, recipients = ['ada@a.example'] } = change;
  await database.query(
    `with fresh as (
       insert into events (id, account_id, type, created_at, data, recipients)
       select 'evt_' || $2 || $6 || n, $1, $2, now() - ($3 - n) * interval '1 s',
              '{"email_id":"' || coalesce($4, 'em_01je' || lpad(n::text, 22, '0')) || '"}',
              array(select ${recipientKey('$1::text', 'r.address')} from unnest($5::text[]) r (address))
       from generate_series(1, $3::int) n
       returning id, position, recipients)
     insert into event_recipients (key, position, event_id)
     select k.key, f.position, f.id from fresh f, unnest(f.recipients[2:]) k (key)`,
    [accountId, type, count, email, recipients, recipients.join()],
  );
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
  ['to nobody', { recipient: 'nobody@b.example' }, 0],
  ['since a time to come', { since: new Date('2999-01-01') }, 0],
  ['until long ago', { until: new Date('2001-01-01') }, 0],
];

test.each(LISTS)(
  'a list %s, planned while it was short, reads no more than it shows',
  async (_, filter, found) => {
    const list = () => events.list(accountId, filter, { limit: LIMIT });
    await list();
    await grow(3, 'email.complained', { email: EMAIL, recipients: [BOB] });
    for (const type of EVENT_TYPES.slice(0, 3)) await grow(GROWN_BY, type);
    await grow(3, 'email.sent', { email: EMAIL, recipients: ['ada@a.example', BOB] });
    const uncounted = await rowsRead(db.pool);
    expect((await list())?.entries).toHaveLength(found);
    expect((await rowsRead(db.pool)) - uncounted).toBeLessThan(READ_MAX);
    await database.query('analyze');
    const counted = await rowsRead(db.pool);
    expect((await list())?.entries).toHaveLength(found);
    expect((await rowsRead(db.pool)) - counted).toBeLessThan(READ_MAX);
  },
);

test('a count of a type that few have, planned while there was none, reads only its events', async () => {
  const everything = { period: 'day', timeZone: 'UTC', byDomain: true, byEmail: true } as const;
  const count = async () => {
    const counted = await createEventCountStore(db).count(accountId, {
      types: ['email.complained'],
      since: new Date('2001-01-01'),
      until: new Date('2999-01-01'),
      ...everything,
      domainIds: null,
      emailIds: null,
    });
    return counted.kind === 'counted' ? counted.counts.filter(({ isTotal }) => isTotal) : [];
  };
  await count();
  await grow(3, 'email.complained', { email: EMAIL, recipients: [BOB] });
  for (const type of EVENT_TYPES.slice(0, 3)) await grow(GROWN_BY, type);
  for (const isCounted of [false, true]) {
    if (isCounted) await database.query('analyze');
    const before = await rowsRead(db.pool);
    expect(await count()).toMatchObject([{ type: 'email.complained', events: 3, emails: 1 }]);
    expect((await rowsRead(db.pool)) - before).toBeLessThan(READ_MAX);
  }
});

/** With the number of events that each finds, of those that have deliveries, dead letters and attempts. */
const WEBHOOK_LISTS: [string, WebhookEventFilter, number][] = [
  ['all', {}, LIMIT],
  ['of a type that few have', { type: 'email.complained' }, 3],
  ['of a message', { emailId: EMAIL }, 3],
  ['to a recipient', { recipient: BOB }, 3],
];

/** One delivery, dead letter and attempt of the webhook for each event. */
async function growFates(webhookId: WebhookId): Promise<void> {
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

test.each(WEBHOOK_LISTS)(
  'a list of a webhook’s events, %s, planned while it was short, reads a few rows for each that it shows',
  async (_, filter, found) => {
    const webhookId = await createRows(database).webhook({ accountId });
    await database.query(`update webhooks set created_at = '2001-01-01'`);
    const store = createWebhookEventStore(db);
    const list = async () => {
      const page = await store.list(accountId, webhookId, filter, { limit: LIMIT });
      return typeof page === 'string' ? [] : page.entries;
    };
    const find = () => store.find(accountId, webhookId, 'evt_email.complainedbob@b.example1' as EventId);
    await list();
    await find();
    for (const type of EVENT_TYPES.slice(0, 2)) await grow(GROWN_BY, type);
    await grow(3, 'email.complained', { email: EMAIL, recipients: [BOB] });
    await growFates(webhookId);
    for (const isCounted of [false, true]) {
      if (isCounted) await database.query('analyze');
      const before = await rowsRead(db.pool);
      expect(await list()).toHaveLength(found);
      expect(await find()).toMatchObject({ status: 'pending', attempts: 0 });
      expect((await rowsRead(db.pool)) - before).toBeLessThan(READ_MAX);
    }
  },
);

test('a story, planned while there was nothing, reads the rows of its event', async () => {
  const webhookId = await createRows(database).webhook({ accountId });
  await database.query(`update webhooks set created_at = '2001-01-01'`);
  await grow(1, 'email.complained', { email: EMAIL, recipients: [BOB] });
  const story = () => readEventStory(db, `evt_email.complained${BOB}1` as EventId);
  await story();
  for (const type of EVENT_TYPES.slice(0, 2)) await grow(GROWN_BY, type);
  await growFates(webhookId);
  for (const isCounted of [false, true]) {
    if (isCounted) await database.query('analyze');
    const before = await rowsRead(db.pool);
    expect((await story())?.webhooks).toMatchObject([{ webhookId, deliveries: [[{ attempt: 1 }]] }]);
    expect((await rowsRead(db.pool)) - before).toBeLessThan(READ_MAX);
  }
});
