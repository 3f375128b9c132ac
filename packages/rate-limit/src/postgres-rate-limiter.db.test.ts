import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createTestDatabase } from '@postrider/testing';
import type { TestDatabase } from '@postrider/testing';
import { Pool } from 'pg';
import { rateLimiterConformance } from '../test/conformance.ts';
import type { StoreUnderTest } from '../test/conformance.ts';
import { startHoldingProxy } from '../test/holding-proxy.ts';
import { createPostgresRateLimiter } from './postgres-rate-limiter.ts';
import type { Query } from './postgres-rate-limiter.ts';

describe('the rate limiter on Postgres', () => {
  let database: TestDatabase;
  beforeAll(async () => void (database = await createTestDatabase()));
  afterAll(() => database.drop());

  /** Many connections, as in production: charges of one key meet in the database. */
  const startPool = (connectionString: string): { query: Query; end: () => Promise<void> } => {
    const pool = new Pool({ connectionString, max: 20 });
    pool.on('error', () => undefined); // idle connections break when the store is taken away
    return {
      query: async (sql, params) => (await pool.query<object>(sql, [...params])).rows,
      end: () => pool.end(),
    };
  };

  const store: StoreUnderTest = {
    async start(options) {
      const target = new URL(database.url);
      const proxy = await startHoldingProxy(Number(target.port));
      target.port = String(proxy.port);
      const pool = startPool(target.href);
      const faults: Error[] = [];
      const limiter = createPostgresRateLimiter({
        query: pool.query,
        onUnavailable: (error) => faults.push(error),
        ...options,
      });
      return {
        ...proxy,
        limiter,
        faults,
        close: async () => {
          await proxy.close(); // breaks what still hangs, so that the pool can end
          await pool.end();
        },
      };
    },
    async look(key) {
      const [row] = await database.query<{ ms: number; used: number }>(
        'select extract(epoch from ends_at - now())::float8 * 1000 as ms, used from rate_limits where key = $1',
        [key],
      );
      return { remainingMs: row?.ms ?? 0, used: row?.used ?? 0 };
    },
  };
  rateLimiterConformance(() => store);

  test('keeps one row for a key, whatever is charged', async () => {
    const limiter = createPostgresRateLimiter({
      query: (sql, params) => database.query(sql, [...params]),
      onUnavailable: (error) => {
        throw error;
      },
      timeoutMs: 10_000,
    });
    for (let count = 0; count < 5; count += 1) await limiter.charge('one-row', 1, 3);
    expect(await database.query("select used from rate_limits where key = 'one-row'")).toEqual([{ used: 3 }]);
  });

  test('refuses, and tells the error, when the statement fails', async () => {
    const faults: Error[] = [];
    const limiter = createPostgresRateLimiter({
      query: () => database.query('select 1 from no_such_table'),
      onUnavailable: (error) => faults.push(error),
      timeoutMs: 10_000,
    });
    expect(await limiter.charge('broken', 1, 3)).toEqual({ allowed: false, why: 'limiter-unavailable' });
    expect(faults.map(({ message }) => message)).toEqual([expect.stringContaining('no_such_table')]);
  });
});
