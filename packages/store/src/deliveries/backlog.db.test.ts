import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { AccountId } from '@postrider/domain';
import { createRows } from '@postrider/testing';
import type { Rows } from '@postrider/testing';
import type { Pool } from 'pg';
import { setupStore } from '../../test/open-store.ts';
import { rowsRead } from '../../test/rows-read.ts';
import { StoreUnavailableError } from '../db/errors.ts';
import { createPool } from '../db/pool.ts';
import { readFailingWebhooks } from '../webhooks/failing-webhooks.ts';
import {
  countDeadLetters,
  outstandingOf,
  readBacklog,
  readLateWebhooks,
  readOutstanding,
} from './backlog.ts';

const store = setupStore();
let rows: Rows;

beforeAll(async () => {
  rows = createRows(store.outside);
});
beforeEach(() => rows.clear());

const pools: Pool[] = [];
afterEach(async () => {
  for (const pool of pools.splice(0)) await pool.end();
});

/** The end of the test ends it. */
function poolOfOne(databaseUrl: string): Pool {
  const pool = createPool({
    databaseUrl,
    size: 1,
    applicationName: 'backlog-test',
    durableCommits: false,
    onError: () => undefined,
  });
  pools.push(pool);
  return pool;
}

const EMPTY = {
  outstanding: 0,
  dueNow: 0,
  oldestDueSeconds: 0,
  oldestFirstAttemptSeconds: 0,
  unsentEmails: 0,
  failingWebhooks: 0,
};

test('of empty tables is all zero', async () => {
  expect(await readBacklog(store.db.pool)).toEqual(EMPTY);
  expect(await countDeadLetters(store.db.pool)).toEqual({ attempts_exhausted: 0, rejected: 0 });
});

test('counts what is outstanding, due, unsent, dead by reason, and failing', async () => {
  const webhookId = await rows.webhook();
  await rows.webhook({ failing: true });
  await rows.deliveries(webhookId, { count: 3, dueInMs: -5_000 });
  await rows.deliveries(webhookId, { count: 2, dueInMs: 100_000 });
  await rows.email();
  const eventId = await rows.event();
  for (let n = 0; n < 3; n += 1) await rows.deadLetter(webhookId, eventId);
  await store.outside.query(
    `update dead_letters set reason = 'rejected' where id = (select min(id) from dead_letters)`,
  );
  expect(await readBacklog(store.db.pool)).toEqual({
    outstanding: 5,
    dueNow: 3,
    oldestDueSeconds: expect.any(Number),
    oldestFirstAttemptSeconds: expect.any(Number),
    unsentEmails: 1,
    failingWebhooks: 1,
  });
  expect(await countDeadLetters(store.db.pool)).toEqual({ attempts_exhausted: 2, rejected: 1 });
});

test('a failing webhook that is being removed does not count as failing', async () => {
  await rows.webhook({ failing: true });
  await store.outside.query('update webhooks set removed_at = now()');
  expect(await readBacklog(store.db.pool)).toEqual(EMPTY);
  expect(await readFailingWebhooks(store.db.pool, 10)).toEqual([]);
});

test('the outstanding deliveries of one account are counted', async () => {
  const accountId = await rows.account();
  for (let n = 1; n <= 2; n += 1) await rows.deliveries(await rows.webhook({ accountId }), { count: n });
  await rows.deliveries(await rows.webhook(), { count: 4 });
  expect(await outstandingOf(store.db.pool, accountId)).toBe(3);
  expect(await outstandingOf(store.db.pool, await rows.account())).toBe(0);
});

test('a count of an account asks about the webhooks that have deliveries, however many it has', async () => {
  const accountId = await rows.account();
  await rows.deliveries(await rows.webhook({ accountId }), { count: 3 });
  await store.outside.query(
    `insert into webhooks (id, account_id, endpoint, events, secret_key_id, secret_sealed)
     select 'wh_' || n, $1, 'https://hooks.example/in', '{}', 'k', '\\x01' from generate_series(1, 1000) n`,
    [accountId],
  );
  await store.outside.query('select pg_stat_force_next_flush()');
  const pool = poolOfOne(store.outside.url);
  const before = await rowsRead(pool);
  expect(await outstandingOf(pool, accountId)).toBe(3);
  expect((await rowsRead(pool)) - before).toBeLessThan(100);
});

test('the oldest due is told of what nobody has in hand: a lease that runs counts as a hand, one that ran out does not', async () => {
  const webhookId = await rows.webhook();
  const [oldest = ''] = await rows.deliveries(webhookId, { dueInMs: -7_200_000 });
  const [next = ''] = await rows.deliveries(webhookId, { dueInMs: -3_600_000 });
  await rows.deliveries(webhookId, { dueInMs: 60_000 });
  const lease = async (id: string, until: string) =>
    store.outside.query(`update deliveries set leased_until = now() + $2::interval where id = $1`, [
      id,
      until,
    ]);
  const oldestMinutes = async () => Math.floor((await readBacklog(store.db.pool)).oldestDueSeconds / 60);

  await lease(oldest, '1 hour');
  expect(await oldestMinutes()).toBe(60);
  await lease(oldest, '-1 s');
  expect(await oldestMinutes()).toBe(120);
  await lease(oldest, '1 hour');
  await lease(next, '1 hour');
  expect((await readBacklog(store.db.pool)).oldestDueSeconds).toBe(0);
});

test('the oldest without an attempt is told whoever has it: one that is leased again and again would never show', async () => {
  const webhookId = await rows.webhook();
  const [stuck] = await rows.deliveries(webhookId, { dueInMs: -3_600_000 });
  await rows.deliveries(webhookId, { dueInMs: -7_200_000, attempts: 1 });
  await rows.deliveries(webhookId, { dueInMs: 60_000 });
  const firstMinutes = async () =>
    Math.floor((await readBacklog(store.db.pool)).oldestFirstAttemptSeconds / 60);

  expect(await firstMinutes()).toBe(60);
  await store.outside.query(`update deliveries set leased_until = now() + interval '30 s', taken_at = now()`);
  expect(await firstMinutes()).toBe(60);
  expect((await readBacklog(store.db.pool)).oldestDueSeconds).toBe(0);
  await store.outside.query('delete from deliveries where id = $1', [stuck]);
  expect(await firstMinutes()).toBe(0);
});

test('the webhooks whose events wait for their first attempt are named, the longest wait first', async () => {
  const [late, later] = [await rows.webhook(), await rows.webhook()];
  await rows.deliveries(late, { count: 3, dueInMs: -400_000 });
  await rows.deliveries(later, { dueInMs: -900_000, attempts: 1 });
  await rows.deliveries(later, { dueInMs: -600_000 });
  await rows.deliveries(await rows.webhook(), { dueInMs: -200_000 });
  await rows.deliveries(await rows.webhook({ failing: true }), { dueInMs: -900_000 });
  const removed = await rows.webhook();
  await rows.deliveries(removed, { dueInMs: -900_000 });
  await store.outside.query('update webhooks set removed_at = now() where id = $1', [removed]);
  const named = async (limit: number) =>
    (await readLateWebhooks(store.db.pool, 300, limit)).map(({ webhookId }) => webhookId);
  expect(await named(5)).toEqual([later, late]);
  expect(await named(1)).toEqual([later]);
});

describe('of a table beyond what is read whole', () => {
  const ROWS = 20_000;
  /** So that a table of a few megabytes is one. */
  const PAGES = 100;

  test('the counts are told from a sample of it, the oldest due exactly', async () => {
    const [busy, quiet] = [await rows.webhook(), await rows.webhook()];
    await rows.deliveries(busy, { count: ROWS / 2, dueInMs: -60_000 });
    await rows.deliveries(busy, { count: ROWS / 2, dueInMs: 600_000 });
    const [held = ''] = await rows.deliveries(quiet, { dueInMs: -7_200_000 });
    await rows.deliveries(quiet, { dueInMs: -3_600_000 });
    await store.outside.query(
      `update deliveries set leased_until = now() + interval '1 hour' where id = $1`,
      [held],
    );
    const [table] = await store.outside.query<{ pages: number }>(
      `select (pg_relation_size('deliveries') / 8192)::int as pages`,
    );
    expect(table?.pages).toBeGreaterThan(PAGES);
    const told = await readOutstanding(store.db.pool, PAGES);
    expect(told.outstanding).toBeGreaterThan(ROWS / 2);
    expect(told.outstanding).toBeLessThan(ROWS * 2);
    // Half of them are due.
    expect(told.dueNow / told.outstanding).toBeGreaterThan(0.3);
    expect(told.dueNow / told.outstanding).toBeLessThan(0.7);
    const [{ account } = { account: '' }] = await store.outside.query<{ account: AccountId }>(
      'select account_id as account from webhooks where id = $1',
      [busy],
    );
    const ofAccount = await outstandingOf(store.db.pool, account as AccountId, PAGES);
    expect(ofAccount).toBeGreaterThan(ROWS / 2);
    expect(ofAccount).toBeLessThan(ROWS * 2);
    expect(Math.floor(told.oldestDueSeconds / 60)).toBe(60);
    expect(Math.floor(told.oldestFirstAttemptSeconds / 60)).toBe(120);
  });

  test('the oldest without an attempt is never told younger than it is, whatever was attempted before it', async () => {
    await rows.deliveries(await rows.webhook(), { count: ROWS, dueInMs: 600_000 });
    const webhookId = await rows.webhook();
    await rows.deliveries(webhookId, { dueInMs: -3_600_000 });
    await rows.deliveries(webhookId, { dueInMs: -7_200_000, attempts: 1, count: 31 });
    const minutes = async () =>
      Math.floor((await readOutstanding(store.db.pool, PAGES)).oldestFirstAttemptSeconds / 60);
    expect(await minutes()).toBe(60);
    await rows.deliveries(webhookId, { dueInMs: -5_400_000, attempts: 1 });
    expect(await minutes()).toBe(90);
  });

  test('not more of it is read than that', async () => {
    await rows.deliveries(await rows.webhook(), { count: ROWS });
    const pool = poolOfOne(store.outside.url);
    const read = async (): Promise<number> => {
      await pool.query('select pg_stat_force_next_flush()');
      const { rows: counted } = await pool.query<{ read: number }>(
        `select (seq_tup_read + coalesce(idx_tup_fetch, 0))::int as read from pg_stat_user_tables
         where relname = 'deliveries'`,
      );
      return counted[0]?.read ?? 0;
    };
    const before = await read();
    await readOutstanding(pool, 10);
    expect((await read()) - before).toBeLessThan(ROWS / 4);
  });

  test('that nothing is in any more all is zero', async () => {
    await rows.deliveries(await rows.webhook(), { count: ROWS });
    await store.outside.query('delete from deliveries');
    const told = await readOutstanding(store.db.pool, 10);
    expect(told).toMatchObject({ outstanding: 0, dueNow: 0, oldestDueSeconds: 0 });
  });
});

test('a Postgres that is away is said to be', async () => {
  const away = poolOfOne('postgres://nobody@127.0.0.1:9/none');
  await expect(readBacklog(away)).rejects.toThrow(StoreUnavailableError);
});
