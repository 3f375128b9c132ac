import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { createTestDatabase, setup, startFaultProxy, waitFor } from '@postrider/testing';
import { openDatabase } from './database.ts';
import { isUnavailable, StoreUnavailableError } from './errors.ts';
import { createPool } from './pool.ts';
import type { PoolOptions } from './pool.ts';
import { openSession } from './session.ts';

const database = setup(createTestDatabase, (opened) => opened.drop());

async function withPool<T>(
  more: Partial<PoolOptions>,
  work: (pool: ReturnType<typeof createPool>) => Promise<T>,
): Promise<T> {
  const options = { databaseUrl: database.url, size: 2, applicationName: 'pool-test', durableCommits: true };
  const pool = createPool({ ...options, onError: () => undefined, ...more });
  try {
    return await work(pool);
  } finally {
    await pool.end();
  }
}

async function settingOf(more: Partial<PoolOptions>, name: string): Promise<unknown> {
  return withPool(more, async (pool) => {
    const { rows } = await pool.query<{ value: string }>('select current_setting($1) as value', [name]);
    return rows[0]?.value;
  });
}

test('a connection cut while it is checked out and idle ends no process: its next statement fails', async () => {
  await withPool({}, async (pool) => {
    const client = await pool.connect();
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    const ended = new Promise((resolve) => client.once('end', resolve));
    await database.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
    await ended;
    await expect(client.query('select 1')).rejects.toThrow();
    client.release(true);
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  });
});

test('idle connections close, except one', async () => {
  await withPool({ size: 3 }, async (pool) => {
    const clients = await Promise.all([pool.connect(), pool.connect(), pool.connect()]);
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
    try {
      for (const client of clients) client.release();
      jest.advanceTimersByTime(60_000);
    } finally {
      jest.useRealTimers();
    }
    expect(pool.totalCount).toBe(1);
  });
});

test('who waits for a connection gets an error after five seconds', async () => {
  await withPool({ size: 1 }, async (pool) => {
    const held = await pool.connect();
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
    try {
      const waiting = pool.connect().catch((error: unknown) => error);
      const turn = () => new Promise((resolve) => setImmediate(resolve, 'it waits'));
      jest.advanceTimersByTime(4_999);
      expect(await Promise.race([waiting, turn()])).toBe('it waits');
      jest.advanceTimersByTime(1);
      expect(isUnavailable(await Promise.race([waiting, turn()]))).toBe(true);
    } finally {
      jest.useRealTimers();
      held.release();
    }
  });
});

test('a file of the URL that is missing fails the statements that wait, and ends no process', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'pool-'));
  const file = join(folder, 'ca.pem');
  writeFileSync(file, '');
  const databaseUrl = `${database.url}?sslmode=disable&sslrootcert=${file}`;
  try {
    await withPool({ databaseUrl, size: 1 }, async (pool) => {
      const client = await pool.connect();
      const waiting = [1, 2].map(async () => expect(pool.query('select 1')).rejects.toThrow('ENOENT'));
      rmSync(file);
      client.release(true);
      await Promise.all(waiting);
      writeFileSync(file, '');
      expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** The database's own settings, which a new session has until it is prepared. */
async function alterDatabase(...settings: string[]): Promise<void> {
  const [row] = await database.query<{ name: string }>('select current_database() as name');
  for (const setting of settings) await database.query(`alter database ${row?.name ?? ''} ${setting}`);
}

/** What Postgres itself, without an operator, gives a session; and what the pool changes. */
const PINNED: Readonly<Record<string, string>> = {
  TimeZone: 'UTC',
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  bytea_output: 'hex',
  extra_float_digits: '1',
  standard_conforming_strings: 'on',
  array_nulls: 'on',
  transform_null_equals: 'off',
  search_path: 'public',
  default_transaction_isolation: 'read committed',
  transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  lock_timeout: '0',
  idle_session_timeout: '0',
  transaction_timeout: '0',
  statement_timeout: '15s',
  idle_in_transaction_session_timeout: '15s',
  jit: 'off',
  synchronous_commit: 'on',
};

describe('whatever the settings of the server, the database or the role', () => {
  const hostile = [
    `set timezone = 'America/New_York'`,
    `set datestyle = 'German, DMY'`,
    `set search_path = pg_temp, "$user"`,
    `set default_transaction_isolation = 'repeatable read'`,
    'set transaction_timeout = 2000',
    'set synchronous_commit = off',
    'set jit = on',
  ];
  beforeAll(() => alterDatabase(...hostile));
  afterAll(() => alterDatabase('reset all'));

  const sql = `select jsonb_object_agg(name, current_setting(name)) as found
    from unnest(array['${Object.keys(PINNED).join("','")}']) name`;

  test('a connection of the pool has ours, from its first statement on', async () => {
    await withPool({}, async (pool) => {
      expect((await pool.query<{ found: unknown }>(sql)).rows[0]?.found).toEqual(PINNED);
    });
  });

  test('Prisma has them, in a transaction and without', async () => {
    const options = { databaseUrl: database.url, size: 2, applicationName: 'pool-test' };
    const db = openDatabase(
      { ...options, onError: () => undefined },
      { send: () => undefined, close: async () => undefined },
    );
    const found = [
      ...(await db.prisma.$queryRawUnsafe<{ found: unknown }[]>(sql)),
      ...(await db.transactions.run((tx) => tx.client.$queryRawUnsafe<{ found: unknown }[]>(sql))),
    ];
    expect(found).toEqual([{ found: PINNED }, { found: PINNED }]);
    await db.close();
  });

  test('a session outside a pool has them, without a time limit for a statement', async () => {
    const session = await openSession({ connectionString: database.url });
    const expected = { ...PINNED, statement_timeout: '0', idle_in_transaction_session_timeout: '0' };
    expect((await session.query<{ found: unknown }>(sql)).rows[0]?.found).toEqual(expected);
    await session.end();
  });

  test('the time of an event is the same through Prisma, through SQL and in the database', async () => {
    const at = new Date('2026-07-01T12:34:56.789Z');
    await withPool({}, async (pool) => {
      const { rows } = await pool.query<{ at: Date; ms: number }>(
        'select $1::timestamptz as at, (extract(epoch from $1::timestamptz) * 1000)::float8 as ms',
        [at],
      );
      expect(rows).toEqual([{ at, ms: at.getTime() }]);
    });
  });
});

describe('a server that only reads', () => {
  afterAll(() => alterDatabase('reset all'));

  test('is refused, and taken again when it writes', async () => {
    await alterDatabase('set default_transaction_read_only = on');
    await withPool({}, async (pool) => {
      const error = await pool.query('select 1').catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: '25006' });
      expect(isUnavailable(error)).toBe(true);
      await alterDatabase('reset default_transaction_read_only');
      expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    });
  });

  const pidOf = `select pg_backend_pid() as pid`;

  test.each([
    ['that says so', 'set default_transaction_read_only = on'],
    ['that refuses a write', `do $$ begin raise sqlstate '25006'; end $$`],
  ])('%s loses all connections that were opened before, held ones too', async (_, sql) => {
    await withPool({ size: 3 }, async (pool) => {
      const clients = [await pool.connect(), await pool.connect(), await pool.connect()] as const;
      const ask = async (client: (typeof clients)[number]) =>
        (await client.query<{ pid: number }>(pidOf)).rows[0]?.pid;
      const [first, second, third] = clients;
      const before = [await ask(first), await ask(second), await ask(third)];
      const ended = [first, second].map((client) => new Promise((resolve) => client.once('end', resolve)));
      await second.query(sql).catch(() => undefined);
      await Promise.all(ended);
      for (const client of [first, second]) await expect(client.query('select 1')).rejects.toThrow();
      expect(await ask(third)).toBe(before[2]); // opened later: it may lead to the new server
      for (const client of clients) client.release();
      const [row] = (await pool.query<{ pid: number }>(pidOf)).rows;
      expect(row?.pid).toBe(before[2]);
      expect(pool.totalCount).toBe(1);
    });
  });

  test('loses the connection that Prisma holds', async () => {
    const options = { databaseUrl: database.url, size: 1, applicationName: 'pool-test' };
    const db = openDatabase(
      { ...options, onError: () => undefined },
      { send: () => undefined, close: async () => undefined },
    );
    const refused = db.transactions.run((tx) =>
      tx.client.$executeRawUnsafe(`do $$ begin raise sqlstate '25006'; end $$`),
    );
    await expect(refused).rejects.toThrow(StoreUnavailableError);
    const writes = (): Promise<unknown> => db.prisma.$queryRawUnsafe('select 1 as one');
    await waitFor(async () => writes().catch(() => false), { what: 'a new connection' });
    expect(db.pool.totalCount).toBe(1);
    await db.close();
  });
});

describe('of connections that died silently', () => {
  /** A pool of three connections through a proxy, with two seconds for an answer. */
  async function withLine(
    work: (pool: ReturnType<typeof createPool>, strand: () => void) => Promise<void>,
  ): Promise<void> {
    const line = await startFaultProxy(database.url);
    const url = new URL(line.url(database.url));
    url.searchParams.set('query_timeout', '2000');
    try {
      await withPool({ databaseUrl: url.href, size: 3 }, (pool) => work(pool, () => line.strand()));
    } finally {
      await line.close();
    }
  }

  test('the first that does not answer ends all that were idle or held before its statement', async () => {
    await withLine(async (pool, strand) => {
      const clients = [await pool.connect(), await pool.connect(), await pool.connect()] as const;
      const ended = clients.map((client) => new Promise((resolve) => client.once('end', resolve)));
      const [oldest, idle, held] = clients;
      idle.release();
      oldest.release(); // the pool gives it out first
      strand();
      await expect(pool.query('select 1')).rejects.toThrow('Query read timeout');
      await Promise.all(ended);
      held.release();
      expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    });
  });

  test('so does one whose error the store has wrapped', async () => {
    await withLine(async (pool, strand) => {
      const clients = [await pool.connect(), await pool.connect(), await pool.connect()] as const;
      const ended = clients.map((client) => new Promise((resolve) => client.once('end', resolve)));
      const [oldest, idle, last] = clients;
      oldest.release();
      idle.release();
      strand();
      const error: unknown = await last.query('select 1').catch((fault: unknown) => fault);
      last.release(new StoreUnavailableError(error));
      await Promise.all(ended);
      expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    });
  });

  test('one that does not answer leaves those alone that were taken later', async () => {
    await withLine(async (pool, strand) => {
      await pool.query('select 1');
      strand();
      const silent = expect(pool.query('select 1')).rejects.toThrow('Query read timeout');
      await waitFor(() => pool.idleCount === 0, { what: 'the dead connection to be taken' });
      const later = await pool.connect();
      await silent;
      expect((await later.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
      later.release();
    });
  });
});

test('a connection that cannot be prepared is closed, and the pool goes on', async () => {
  await alterDatabase(`set statement_timeout = '1ms'`); // the statement that prepares it is cancelled now and then
  await withPool({ size: 1 }, async (pool) => {
    for (let turn = 0; turn < 20; turn += 1) await pool.query('select 1').catch(() => undefined);
    await alterDatabase('reset statement_timeout');
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    expect(pool.totalCount).toBe(1);
  });
  const left = `select from pg_stat_activity where application_name = 'pool-test'`;
  await waitFor(async () => (await database.query(left)).length === 0, { what: 'all connections to end' });
});

test.each([
  ['off', 'on'],
  ['on', 'on'],
  ['local', 'local'],
  ['remote_apply', 'remote_apply'],
])('with synchronous_commit = %s, outcomes are written with %s and leases with off', async (given, kept) => {
  const url = new URL(database.url);
  url.searchParams.set('options', `-c synchronous_commit=${given}`);
  expect(await settingOf({ databaseUrl: url.href, durableCommits: true }, 'synchronous_commit')).toBe(kept);
  expect(await settingOf({ databaseUrl: url.href, durableCommits: false }, 'synchronous_commit')).toBe('off');
});

test('options that the URL brings are kept beside our own', async () => {
  const url = new URL(database.url);
  url.searchParams.set('options', '-c geqo=off');
  expect(await settingOf({ databaseUrl: url.href }, 'geqo')).toBe('off');
  expect(await settingOf({ databaseUrl: url.href }, 'jit')).toBe('off');
  expect(await settingOf({ databaseUrl: url.href, plans: 'each time' }, 'plan_cache_mode')).toBe(
    'force_custom_plan',
  );
});
