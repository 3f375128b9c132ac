import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createTestDatabase } from '@postrider/testing';
import type { TestDatabase } from '@postrider/testing';
import { createPool } from './pool.ts';
import type { PoolOptions } from './pool.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

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

test('leases are written without waiting for the disk, outcomes are not', async () => {
  const url = new URL(database.url);
  url.searchParams.set('options', '-c synchronous_commit=on');
  expect(await settingOf({ databaseUrl: url.href, durableCommits: true }, 'synchronous_commit')).toBe('on');
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
