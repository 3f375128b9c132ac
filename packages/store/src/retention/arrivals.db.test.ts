import { beforeEach, expect, test } from '@jest/globals';
import type { AccountId, WebhookId } from '@postrider/domain';
import { createRows } from '@postrider/testing';
import type { Pool } from 'pg';
import { setupStore } from '../../test/open-store.ts';
import { eraseDeadLetters } from './erase-dead-letters.ts';
import { eraseEvents } from './erase-events.ts';
import { eraseReceivedMail } from './erase-mail.ts';
import type { Erasure } from './erasure.ts';
import { dropOldEvents } from './old-events.ts';
import { dropStrayAttempts } from './housekeeping.ts';

/** After so many rows, none arrives any more. So this test ends in any case. */
const ARRIVALS_MAX = 5;

const store = setupStore();
let accountId: AccountId;
let webhookId: WebhookId;

beforeEach(async () => {
  const rows = createRows(store.outside);
  await rows.clear();
  accountId = await rows.account();
  webhookId = await rows.webhook({ accountId });
});

/** Adds a row of each kind that is an hour younger than the one before it, and 39 days old. */
async function arrive(n: number): Promise<void> {
  const rows = createRows(store.outside);
  const eventId = await rows.event({ accountId });
  const ids = [eventId, await rows.deadLetter(webhookId, eventId), await rows.message({ accountId })];
  const at = `now() - interval '40 days' + make_interval(hours => $1)`;
  for (const table of ['events', 'dead_letters', 'messages'])
    await store.outside.query(`update ${table} set created_at = ${at} where id = any ($2)`, [n, ids]);
  await store.outside.query(
    `insert into attempts (started_at, delivery_id, event_id, webhook_id, attempt, duration_ms)
     values (${at}, 1, 'evt_gone', $2, 1, 5)`,
    [n, webhookId],
  );
}

const erasure = (): Erasure => ({
  accountId,
  address: 'bob@b.example',
  requestedAt: new Date().toISOString(),
  resumeFrom: '-infinity',
});

test.each<[string, number, (pool: Pool) => Promise<unknown>]>([
  // The types of the account's events, a page of the one type, a page without positions.
  ['an erasure of events', 3, (pool) => eraseEvents(pool, erasure())],
  ['an erasure of dead letters', 1, (pool) => eraseDeadLetters(pool, erasure())],
  ['an erasure of received mail', 1, (pool) => eraseReceivedMail(pool, erasure())],
  ['retention of events', 1, (pool) => dropOldEvents(pool, 30)],
  ['retention of attempts', 1, (pool) => dropStrayAttempts(pool, 30)],
])('%s ends at a page that is not full, although a row arrives during each page', async (_, steps, pass) => {
  let transactions = 0;
  const connect = async () => {
    transactions += 1;
    if (transactions <= ARRIVALS_MAX) await arrive(transactions);
    return store.db.pool.connect();
  };
  await pass(Object.create(store.db.pool, { connect: { value: connect } }) as Pool);
  expect(transactions).toBe(steps);
});
