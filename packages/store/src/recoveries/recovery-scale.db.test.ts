import { beforeEach, expect, test } from '@jest/globals';
import type { AccountId, WebhookId } from '@postrider/domain';
import { ACTOR, createRows, runs } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import { dropSurplusDeadLetters } from '../retention/old-dead-letters.ts';
import { readWebhookHealth } from '../webhooks/webhook-health.ts';
import { createRecoveryStore } from './recoveries.ts';
import { createRecoveryWork } from './recovery-work.ts';

/* A night's outage: 8 hours with 10 events a second, of which 10,000 dead letters are kept. In `npm test`, a tenth. */

const EVENTS = runs({ usual: 28_800, long: 288_000 });
const LETTERS_KEPT = runs({ usual: 1_000, long: 10_000 });

const store = setupStore();
let accountId: AccountId;
let webhookId: WebhookId;

beforeEach(async () => {
  const rows = createRows(store.outside);
  await rows.clear();
  accountId = await rows.account();
  webhookId = await rows.webhook({ accountId });
  await store.outside.query(`update webhooks set created_at = '2001-01-01'`);
});

/** Events of the night, each with a failed attempt and a dead letter. */
async function outage(): Promise<void> {
  await store.outside.query(
    `insert into events (id, account_id, type, created_at, data)
     select 'evt_' || n, $1, 'email.delivered', now() - interval '9 hours' + n * interval '0.1 s', '{}'
     from generate_series(1, $2::int) n`,
    [accountId, EVENTS],
  );
  await store.outside.query(
    `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status)
     select created_at, 1, id, $1, 8, 1, 503 from events`,
    [webhookId],
  );
  await store.outside.query(
    `insert into dead_letters (id, account_id, webhook_id, event_id, type, event_created_at, data, attempts, reason,
                               last_error, created_at)
     select 'dl_' || id, account_id, $1, id, type, created_at, data, 8, 'attempts_exhausted', 'HTTP 503', created_at
     from events`,
    [webhookId],
  );
}

/** Everything that is queued arrives. @returns the events */
async function arrivals(): Promise<string[]> {
  const rows = await store.outside.query<{ id: string }>(
    `with gone as (delete from deliveries returning id, event_id, webhook_id)
     insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms, status)
     select now(), id, event_id, webhook_id, 1, 1, 200 from gone returning event_id as id`,
  );
  return rows.map(({ id }) => id);
}

test('a recovery sends each event of a night once, also those whose dead letters retention deleted', async () => {
  await outage();
  await dropSurplusDeadLetters(store.db.pool, LETTERS_KEPT);
  const shown = (await readWebhookHealth(store.db, [webhookId])).get(webhookId);
  expect(shown).toMatchObject({ deadLettersDropped: EVENTS - LETTERS_KEPT });
  const recoveries = createRecoveryStore(store.db, store.clock);
  const request = {
    since: new Date(Date.now() - 86_400_000),
    types: [],
    only: 'undelivered',
    rate: 2_000,
  } as const;
  const started = await recoveries.start(accountId, webhookId, request, ACTOR);
  expect(started).toMatchObject({ count: { matched: EVENTS, deadLetters: LETTERS_KEPT, hasMore: false } });
  if (started.kind !== 'started') throw new Error(started.kind);
  const work = createRecoveryWork(store.db.pool);
  const arrived: string[] = [];
  for (let ended: unknown = null; ended === null;) {
    await store.outside.query('update recoveries set next_step_at = now()');
    ended = (await work.step(started.id, 500))?.ended;
    arrived.push(...(await arrivals()));
  }
  expect(arrived).toHaveLength(EVENTS);
  expect(new Set(arrived).size).toBe(EVENTS);
  expect(await store.outside.query('select from dead_letters')).toEqual([]);
}, 300_000);
