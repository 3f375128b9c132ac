import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { AccountId, DeadLetterId, WebhookId } from '@postrider/domain';
import { ACTOR, createRows, untilWaitingForLock } from '@postrider/testing';
import type { Rows } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { createWebhookStore } from '../webhooks/webhooks.ts';
import { replayDeadLetter } from './sql/replay-dead-letters.ts';

const store = setupStore();
let rows: Rows;
let accountId: AccountId;
let webhookId: WebhookId;
let letter: DeadLetterId;

beforeAll(async () => {
  rows = createRows(store.outside);
});
beforeEach(async () => {
  await rows.clear();
  accountId = await rows.account();
  webhookId = await rows.webhook({ accountId });
  letter = await rows.deadLetter(webhookId, await rows.event({ accountId }));
});

async function replay(): Promise<number> {
  return (await store.db.pool.query(replayDeadLetter.text, [accountId, letter])).rows.length;
}

async function counts() {
  const [row] = await store.outside.query(
    `select (select count(*)::int from deliveries) as deliveries, (select count(*)::int from dead_letters) as letters,
            (select count(*)::int from events) as events`,
  );
  return row;
}

async function deletion(): Promise<boolean> {
  return createWebhookStore(store.db, store.secrets, store.clock).delete(accountId, webhookId, ACTOR);
}

test('of fifty replays at once one queues the event, the others find nothing', async () => {
  const replayed = await Promise.all(Array.from({ length: 50 }, replay));
  expect(replayed.sort()).toEqual([...Array.from({ length: 49 }, () => 0), 1]);
  expect(await counts()).toEqual({ deliveries: 1, letters: 0, events: 1 });
});

test('a replay that is undone leaves the letter to be replayed', async () => {
  await inUndoneTransaction(store.db.pool, async (session) => {
    await session.query(replayDeadLetter.text, [accountId, letter]);
    const other = replay();
    await untilWaitingForLock(store.outside);
    await session.query('rollback');
    expect(await other).toBe(1);
  });
  expect(await counts()).toEqual({ deliveries: 1, letters: 0, events: 1 });
});

test('a replay waits for an open DELETE, and then finds nothing', async () => {
  await inUndoneTransaction(store.db.pool, async (session) => {
    await session.query('delete from webhooks where id = $1', [webhookId]);
    const late = replay();
    await untilWaitingForLock(store.outside);
    await session.query('delete from dead_letters where webhook_id = $1', [webhookId]);
    await session.query('commit');
    expect(await late).toBe(0);
  });
  expect(await counts()).toMatchObject({ deliveries: 0, letters: 0 });
});

test('a DELETE waits for an open replay, and deletes its delivery, too', async () => {
  await inUndoneTransaction(store.db.pool, async (session) => {
    await session.query(replayDeadLetter.text, [accountId, letter]);
    const late = deletion();
    await untilWaitingForLock(store.outside);
    await session.query('commit');
    expect(await late).toBe(true);
  });
  expect(await counts()).toMatchObject({ deliveries: 0, letters: 0 });
});

test('a replay and a DELETE in any order, many times over: no fault and nothing left behind', async () => {
  for (let round = 0; round < 25; round += 1) {
    webhookId = await rows.webhook({ accountId });
    letter = await rows.deadLetter(webhookId, await rows.event({ accountId }));
    const [deleted] = await Promise.all([deletion(), replay(), replay()]);
    expect(deleted).toBe(true);
  }
  // The letter of beforeEach stays: its webhook was never deleted.
  expect(await counts()).toMatchObject({ deliveries: 0, letters: 1 });
});
