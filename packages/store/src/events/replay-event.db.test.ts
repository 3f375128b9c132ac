import { beforeEach, expect, test } from '@jest/globals';
import type { AccountId, EventId, WebhookId } from '@postrider/domain';
import { ACTOR, createRows, untilWaitingForLock } from '@postrider/testing';
import type { PoolClient } from 'pg';
import { setupStore } from '../../test/open-store.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { replayDeadLetter } from '../deliveries/sql/replay-dead-letters.ts';
import { dropOldEvents } from '../retention/old-events.ts';
import { createWebhookStore } from '../webhooks/webhooks.ts';
import { createWebhookEventStore } from './webhook-events.ts';

/* What holds a lock that a replay needs, while the replay waits. */

const store = setupStore();
let accountId: AccountId;
let webhookId: WebhookId;
let eventId: EventId;

const rows = () => createRows(store.outside);
beforeEach(async () => {
  await rows().clear();
  accountId = await rows().account();
  webhookId = await rows().webhook({ accountId });
  await store.outside.query(`update webhooks set created_at = '2001-01-01'`);
  eventId = await rows().event({ accountId, ageDays: 31 });
});

/** Replays the event while `first` is open, waits until the replay waits, and then goes on. */
async function replayBehind(
  first: (session: PoolClient) => Promise<unknown>,
  then: (session: PoolClient) => Promise<unknown>,
): Promise<string> {
  return inUndoneTransaction(store.db.pool, async (session) => {
    await first(session);
    const replay = createWebhookEventStore(store.db).replay(accountId, webhookId, eventId, ACTOR);
    await untilWaitingForLock(store.outside);
    await then(session);
    await session.query('commit');
    return replay;
  });
}

const deliveries = async () => (await store.outside.query('select from deliveries')).length;
const queue = `insert into deliveries (event_id, webhook_id) values ($1, $2)`;
const lock = `select from events where id = $1 for no key update`;

test('a replay waits for another of the same event, and then finds it queued', async () => {
  const done = await replayBehind(
    (session) => session.query(lock, [eventId]),
    (session) => session.query(queue, [eventId, webhookId]),
  );
  expect([done, await deliveries()]).toEqual(['pending', 1]);
});

test('a replay waits for that of its dead letter, which needs the event afterwards, and does not deadlock', async () => {
  const letter = await rows().deadLetter(webhookId, eventId);
  const done = await replayBehind(
    (session) => session.query('select from dead_letters where id = $1 for update', [letter]),
    (session) => session.query(replayDeadLetter.text, [accountId, letter]),
  );
  expect([done, await deliveries()]).toEqual(['pending', 1]);
});

test('a replay waits for retention, and finds nothing to send when the event went', async () => {
  const done = await replayBehind(
    (session) => session.query('select from events where id = $1 for update', [eventId]),
    (session) => session.query('delete from events where id = $1', [eventId]),
  );
  expect([done, await deliveries()]).toEqual(['missing', 0]);
});

test.each([
  ['dropped', 'queued'],
  ['dead_letter', 'changed'],
] as const)('a replay of a delivery that was seen as %s is %s when it was dropped', async (seen, done) => {
  const events = createWebhookEventStore(store.db);
  expect(await events.replay(accountId, webhookId, eventId, ACTOR, seen)).toBe(done);
  expect(await deliveries()).toBe(done === 'queued' ? 1 : 0);
});

test('retention leaves an event that is being replayed', async () => {
  await inUndoneTransaction(store.db.pool, async (session) => {
    await session.query(lock, [eventId]);
    expect(await dropOldEvents(store.db.pool, 30)).toBe(0);
  });
  expect(await dropOldEvents(store.db.pool, 30)).toBe(1);
});

test('a replay and a DELETE of the webhook: no delivery is left without its webhook', async () => {
  const webhooks = createWebhookStore(store.db, store.secrets, store.clock);
  const [replayed, deleted] = await Promise.all([
    createWebhookEventStore(store.db).replay(accountId, webhookId, eventId, ACTOR),
    webhooks.delete(accountId, webhookId, ACTOR),
  ]);
  expect(['queued', 'missing']).toContain(replayed);
  expect(deleted).toBe(true);
  expect(await deliveries()).toBe(0);
});
