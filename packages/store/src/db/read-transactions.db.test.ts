import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createRows, setupDatabase } from '@postrider/testing';
import { openReadDatabase } from './database.ts';
import type { ReadDatabase } from './database.ts';

const outside = setupDatabase();
const rows = createRows(outside);
let db: ReadDatabase;
beforeAll(() => {
  db = openReadDatabase({
    databaseUrl: outside.url,
    size: 2,
    applicationName: 'read-test',
    onError: () => undefined,
  });
});
afterAll(() => db.close());

const countOf = async () =>
  (await db.pool.query<{ n: number }>('select count(*)::int as n from accounts')).rows[0]?.n;

test('statements of the pool and of Prisma see the same rows, whatever commits meanwhile', async () => {
  await rows.account();
  const seen = await db.read(async () => {
    const first = await countOf();
    await rows.account();
    return [first, await countOf(), await db.prisma.account.count()];
  });
  expect(seen).toEqual([1, 1, 1]);
  expect(await db.read(countOf)).toBe(2);
});

test('the statements of a read share a connection, and two reads have two', async () => {
  const ids = await db.read(() =>
    Promise.all(
      [1, 2, 3].map(async () => (await db.pool.query<{ id: string }>('select pg_backend_pid() as id')).rows),
    ),
  );
  expect(new Set(ids.map((found) => JSON.stringify(found))).size).toBe(1);
  const backend = async () => (await db.pool.query<{ pid: number }>('select pg_backend_pid() as pid')).rows;
  const [one, two] = await Promise.all([db.read(backend), db.read(backend)]);
  expect(one).not.toEqual(two);
});

test('Postgres refuses a write, also one of Prisma', async () => {
  await expect(db.read(() => db.pool.query('delete from accounts'))).rejects.toThrow();
  const data = { id: 'acct_1', name: 'New' };
  await expect(db.read(() => db.prisma.account.create({ data }))).rejects.toThrow();
  expect(await outside.query('select id from accounts')).toEqual([]);
});

test('nothing runs outside a read transaction', async () => {
  await expect(db.pool.query('select 1')).rejects.toThrow('outside a read transaction');
  await expect(db.prisma.account.count()).rejects.toThrow('outside a read transaction');
  await expect(db.read(() => db.transactions.run(async () => 1))).rejects.toThrow('of its own');
});
