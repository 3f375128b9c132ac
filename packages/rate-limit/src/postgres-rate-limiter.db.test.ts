import { describe, expect, test } from '@jest/globals';
import { createTestDatabase, SESSION_OPTIONS, setup, startFaultProxy, waitFor } from '@postrider/testing';
import { Pool } from 'pg';
import { rateLimiterConformance } from '../test/conformance.ts';
import type { StoreUnderTest } from '../test/conformance.ts';
import { createPostgresRateLimiter } from './postgres-rate-limiter.ts';
import type { PostgresRateLimiterOptions } from './postgres-rate-limiter.ts';

describe('the rate limiter on Postgres', () => {
  const database = setup(createTestDatabase, (opened) => opened.drop());

  /** Many connections, as in production, so that charges for one key meet in the database. */
  const startPool = (
    connectionString: string,
  ): { query: PostgresRateLimiterOptions['query']; end: () => Promise<void> } => {
    const pool = new Pool({ connectionString, max: 20, options: SESSION_OPTIONS });
    pool.on('error', () => undefined); // idle connections break when the store is taken away
    return {
      query: async (sql, params) => (await pool.query<object>(sql, [...params])).rows,
      end: () => pool.end(),
    };
  };

  const store: StoreUnderTest = {
    async start(options) {
      const proxy = await startFaultProxy(database.url);
      const pool = startPool(proxy.url(database.url));
      const faults: Error[] = [];
      const limiter = createPostgresRateLimiter({
        query: pool.query,
        onUnavailable: (error) => faults.push(error),
        ...options,
      });
      return {
        proxy,
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

  /** A limiter that counts what it asks of Postgres. */
  function counted() {
    const asked = { times: 0, now: 0, most: 0 };
    const limiter = createPostgresRateLimiter({
      query: async (sql, params) => {
        asked.times += 1;
        asked.now += 1;
        asked.most = Math.max(asked.most, asked.now);
        try {
          return await database.query<object>(sql, [...params]);
        } finally {
          asked.now -= 1;
        }
      },
      onUnavailable: (error) => {
        throw error;
      },
      timeoutMs: 10_000,
    });
    return { limiter, asked };
  }

  test('a flood of one key takes one connection, and none once its window is spent', async () => {
    const { limiter, asked } = counted();
    const decisions = await Promise.all(Array.from({ length: 500 }, () => limiter.charge('flood', 1, 5)));
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(5);
    expect(asked).toEqual({ times: 2, now: 0, most: 1 });
  });

  test('charges that wait for their turn are asked about together: forty take two statements', async () => {
    const { limiter, asked } = counted();
    const decisions = await Promise.all(Array.from({ length: 40 }, () => limiter.charge('forty', 1, 60)));
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(40);
    expect(asked).toEqual({ times: 2, now: 0, most: 1 });
    const used = await database.query("select used from rate_limits where key = 'forty'");
    expect(used).toEqual([{ used: 40 }]);
  });

  test('what waits together is judged as one by one: what does not fit is refused, what comes behind it may fit', async () => {
    const { limiter } = counted();
    const costs = [50, 8, 3, 2, 1, 1];
    const decisions = await Promise.all(costs.map((cost) => limiter.charge('mixed', cost, 60)));
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, false, true, false, false]);
    const oversize = await Promise.all([70, 1, 70].map((cost) => limiter.charge('oversize', cost, 60)));
    expect(oversize.map(({ allowed }) => allowed)).toEqual([true, false, false]);
  });

  test('a look that waits behind charges sees what they leave', async () => {
    const { limiter } = counted();
    const decisions = await Promise.all([
      limiter.charge('looked', 1, 4),
      limiter.peek('looked', 4),
      limiter.charge('looked', 1, 4),
      limiter.charge('looked', 2, 4),
      limiter.peek('looked', 4),
    ]);
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, true, true, false]);
  });

  test('a charge of another process refuses only charges that no longer fit', async () => {
    const { limiter, asked } = counted();
    const first = limiter.charge('shared', 1, 60);
    const elsewhere = counted().limiter.charge('shared', 50, 60);
    const rest = Array.from({ length: 20 }, () => limiter.charge('shared', 1, 60));
    const decisions = await Promise.all([first, elsewhere, ...rest]);
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(11);
    expect(asked.times).toBeLessThan(8);
  });

  test('keys do not wait for each other', async () => {
    let asked = 0;
    const { promise: allAsked, resolve: release } = Promise.withResolvers<void>();
    const limiter = createPostgresRateLimiter({
      query: async () => {
        asked += 1;
        if (asked === 3) release();
        await allAsked;
        return [{ allowed: true, used: 0, leftMs: 0 }];
      },
      onUnavailable: () => undefined,
      timeoutMs: 10_000,
    });
    const decisions = await Promise.all(['one', 'two', 'three'].map((key) => limiter.charge(key, 1, 5)));
    expect(decisions).toEqual([{ allowed: true }, { allowed: true }, { allowed: true }]);
  });

  test('what could fit in a window that refused more is asked for', async () => {
    const { limiter } = counted();
    expect(await limiter.charge('partly', 4, 5)).toEqual({ allowed: true });
    expect(await limiter.charge('partly', 2, 5)).toEqual({ allowed: false, why: 'limit' });
    expect(await limiter.charge('partly', 1, 5)).toEqual({ allowed: true });
    expect(await limiter.charge('partly', 1, 5)).toEqual({ allowed: false, why: 'limit' });
    // The operator has given the key a higher limit.
    expect(await limiter.charge('partly', 1, 6)).toEqual({ allowed: true });
  });

  test('one statement that hangs holds its key up for the time limit only', async () => {
    let hangs = true;
    const limiter = createPostgresRateLimiter({
      query: async (sql, params) =>
        hangs ? new Promise<never>(() => undefined) : database.query<object>(sql, [...params]),
      onUnavailable: () => undefined,
      timeoutMs: 1_000,
    });
    const unavailable = { allowed: false, why: 'limiter-unavailable' };
    expect(await limiter.charge('hung', 1, 5)).toEqual(unavailable);
    hangs = false;
    await waitFor(async () => (await limiter.charge('hung', 1, 5)).allowed, {
      what: 'the key to be charged',
    });
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
