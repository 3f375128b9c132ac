import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { AccountId, EventId, WebhookId } from '@postrider/domain';
import { createRows } from '@postrider/testing';
import { setupPlanStore } from '../../test/plan-store.ts';
import { rowsRead } from '../../test/rows-read.ts';
import { createAttemptStore } from '../deliveries/attempts.ts';
import { readFates } from './event-fates.ts';
import { summarizeEvents } from './event-summaries.ts';
import { createWebhookEventStore } from './webhook-events.ts';

/* A plan that is kept must not depend on how large the tables were when it was made (decision 0012). */

/** One event has so many at each of two webhooks. */
const ATTEMPTS = 3_000;
const READ_MAX = 1_000;
const LIMIT = 20;
/** Another event has so many. */
const WEBHOOKS = 1_000;

const plans = setupPlanStore();
let accountId: AccountId;
let busy: WebhookId;
let quiet: WebhookId;
let eventId: EventId;
/** An event with a delivery and a dead letter at each of many webhooks. */
let shared: { accountId: AccountId; eventId: EventId; webhookId: WebhookId };

beforeAll(async () => {
  const rows = createRows(plans.database);
  accountId = await rows.account();
  [busy, quiet] = [await rows.webhook({ accountId }), await rows.webhook({ accountId })];
  await plans.database.query(`update webhooks set created_at = now() - interval '1 day'`);
  await plans.database.query('select make_attempts_day(current_date + n) from generate_series(0, 7) n');
  eventId = await rows.event({ accountId });
  for (const [, read] of READS) await read(quiet);
  await fates();
  await attempt(busy, ATTEMPTS, 503);
  await attempt(await rows.webhook(), ATTEMPTS, 503);
  await attempt(quiet, 2, 200);
  shared = await share();
  await plans.database.query('select pg_stat_force_next_flush()');
});

async function share(): Promise<typeof shared> {
  const rows = createRows(plans.database);
  const owner = await rows.account();
  const event = await rows.event({ accountId: owner });
  const made = await plans.database.query<{ id: WebhookId }>(
    `insert into webhooks (id, account_id, endpoint, events, secret_key_id, secret_sealed, created_at)
     select 'wh_' || n, $1, 'https://hooks.example/in', '{}', 'k', '\\x01', now() - interval '1 day'
     from generate_series(1, $2::int) n returning id`,
    [owner, WEBHOOKS],
  );
  for (const { id } of made) {
    await rows.deliveries(id, { eventId: event });
    await rows.deadLetter(id, event);
  }
  return { accountId: owner, eventId: event, webhookId: made[0]?.id as WebhookId };
}

async function attempt(webhookId: WebhookId, count: number, status: number): Promise<void> {
  await plans.database.query(
    `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status)
     select now() + n * interval '1 ms', n, $1, $2, 1, 1, $4 from generate_series(1, $3::int) n`,
    [eventId, webhookId, count, status],
  );
}

const list = async (webhookId: WebhookId) => {
  const page = await createWebhookEventStore(plans.db).list(accountId, webhookId, {}, { limit: LIMIT });
  return typeof page === 'string' ? page : page.entries;
};
const find = (webhookId: WebhookId) => createWebhookEventStore(plans.db).find(accountId, webhookId, eventId);
const summarize = async (webhookId: WebhookId) => [
  ...(await summarizeEvents(plans.db, webhookId, [eventId])).values(),
];
const attemptsOf = async (webhookId: WebhookId) =>
  (await createAttemptStore(plans.db).list(accountId, { webhookId, eventId, limit: LIMIT }))?.entries.length;
const fates = async () => (await readFates(plans.db, [eventId])).get(eventId);

/** Each has its result at a webhook with two attempts, then at one with many. */
const READS: [string, (webhookId: WebhookId) => Promise<unknown>, unknown, unknown][] = [
  [
    'a list of its events',
    list,
    [{ delivery: 'delivered', attempts: 2 }],
    [{ delivery: 'dropped', attempts: 100 }],
  ],
  ['the event', find, { delivery: 'delivered', attempts: 2 }, { delivery: 'dropped', attempts: 100 }],
  ['a summary of the event', summarize, [{ lastStatus: 200 }], [{ lastStatus: 503 }]],
  ['the attempts of the event', attemptsOf, 2, LIMIT],
];

describe.each([
  ['before Postgres has counted the rows', false],
  ['once Postgres has counted the rows', true],
])('%s', (_when, isCounted) => {
  let before: number;

  beforeAll(async () => {
    if (isCounted) await plans.database.query('analyze');
  });
  beforeEach(async () => void (before = await rowsRead(plans.db.pool)));
  const read = async () => (await rowsRead(plans.db.pool)) - before;

  test.each(READS)('%s reads few attempts at this webhook, and none at others', async (_, of, few, many) => {
    expect({ is: await of(quiet) }).toMatchObject({ is: few });
    expect(await read()).toBeLessThan(100);
    expect({ is: await of(busy) }).toMatchObject({ is: many });
    expect(await read()).toBeLessThan(READ_MAX);
  });

  test('the states at all webhooks read few attempts at each', async () => {
    expect(await fates()).toHaveLength(3);
    expect(await read()).toBeLessThan(READ_MAX);
  });

  test('the states at many webhooks read a few rows for each', async () => {
    const states = (await readFates(plans.db, [shared.eventId])).get(shared.eventId);
    expect(states).toHaveLength(WEBHOOKS);
    expect(await read()).toBeLessThan(30 * WEBHOOKS);
  });

  test('the list of a webhook reads no rows of the others', async () => {
    const page = await createWebhookEventStore(plans.db).list(
      shared.accountId,
      shared.webhookId,
      {},
      { limit: LIMIT },
    );
    expect(page).toMatchObject({ entries: [{ delivery: 'queued' }] });
    expect(await read()).toBeLessThan(WEBHOOKS);
  });
});

test('the domains of an event are found once, however many webhooks have domains', async () => {
  const rows = createRows(plans.database);
  const owner = await rows.account();
  const emailId = await rows.email(0, owner);
  const ids = [await rows.event({ accountId: owner }), await rows.event({ accountId: owner })];
  await plans.database.query(`update emails set from_domain = 'shop.example' where id = $1`, [emailId]);
  await plans.database.query(`update events set data = $2 where id = any ($1)`, [
    ids,
    JSON.stringify({ email_id: emailId }),
  ]);
  await plans.database.query(
    `insert into webhooks (id, account_id, endpoint, events, domains, secret_key_id, secret_sealed, created_at)
     select 'wh_d' || n, $1, 'https://hooks.example/in', '{}', array[case n when 7 then 'shop' else 's' || n end || '.example'],
            'k', '\\x01', now() - interval '1 day'
     from generate_series(1, 100) n`,
    [owner],
  );
  const lookUps = async () => {
    await plans.db.pool.query('select pg_stat_force_next_flush()');
    const { rows: counted } = await plans.db.pool.query<{ scans: number }>(
      `select idx_scan::int as scans from pg_stat_user_tables where relname = 'emails'`,
    );
    return counted[0]?.scans ?? NaN;
  };
  await plans.database.query('select pg_stat_force_next_flush()');
  const before = await lookUps();
  const found = await readFates(plans.db, ids);
  expect(ids.map((id) => found.get(id)?.map(({ webhookId }) => webhookId))).toEqual([['wh_d7'], ['wh_d7']]);
  expect((await lookUps()) - before).toBe(ids.length);
});
