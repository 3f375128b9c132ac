import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import { createRows } from '@postrider/testing';
import type { Rows } from '@postrider/testing';
import { setupStore } from '../../test/open-store.ts';
import { inUndoneTransaction } from '../../test/sessions.ts';
import { createSnapshotWatch } from './oldest-snapshot.ts';

const store = setupStore();
let rows: Rows;
let nowMs: number;
let oldestSeconds: () => Promise<number>;

beforeAll(async () => {
  rows = createRows(store.outside);
});
beforeEach(() => {
  nowMs = 5_000_000;
  oldestSeconds = createSnapshotWatch(store.db.pool, () => nowMs);
});

/** Time passes, and something is written: only then does a snapshot hold anything back. */
async function pass(seconds: number): Promise<void> {
  nowMs += seconds * 1000;
  await rows.account();
}

test('is 0 while no snapshot is held, whatever is written', async () => {
  expect(await oldestSeconds()).toBe(0);
  await pass(60);
  expect(await oldestSeconds()).toBe(0);
});

test.each([
  ['a dump', 'set transaction isolation level repeatable read', 'select from webhooks'],
  [
    'a transaction that has written and waits',
    'select',
    "insert into accounts (id, name) values ('acct_open', 'x')",
  ],
])('counts the seconds that %s has been open, and ends with it', async (_, begin, first) => {
  await oldestSeconds();
  await inUndoneTransaction(store.db.pool, async (session) => {
    await session.query(begin);
    await session.query(first);
    await pass(20);
    expect(await oldestSeconds()).toBe(20);
    await pass(3_600);
    expect(await oldestSeconds()).toBe(3_620);
  });
  await pass(15);
  expect(await oldestSeconds()).toBe(0);
});

test('counts the seconds that a prepared transaction is open, which is in no session', async () => {
  const [server] = await store.outside.query(`select current_setting('max_prepared_transactions') as max`);
  if (server?.['max'] === '0') return; // a server from TEST_DATABASE_URL has its own settings
  await oldestSeconds();
  await inUndoneTransaction(store.db.pool, async (session) => {
    await session.query("insert into accounts (id, name) values ('acct_prepared', 'x')");
    await session.query("prepare transaction 'oldest-snapshot'");
  });
  try {
    await pass(20);
    expect(await oldestSeconds()).toBe(20);
  } finally {
    await store.outside.query("rollback prepared 'oldest-snapshot'");
  }
  await pass(15);
  expect(await oldestSeconds()).toBe(0);
});

test('a snapshot from before the first look counts from then', async () => {
  await inUndoneTransaction(store.db.pool, async (session) => {
    await session.query('set transaction isolation level repeatable read');
    await session.query('select from webhooks');
    await pass(100);
    expect(await oldestSeconds()).toBe(0);
    await pass(30);
    expect(await oldestSeconds()).toBe(30);
  });
});
