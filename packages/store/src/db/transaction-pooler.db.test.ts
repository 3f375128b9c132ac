import { describe, expect, test } from '@jest/globals';
import { createTestDatabase, setup } from '@postrider/testing';
import { startTestPooler } from '../../test/test-pooler.ts';
import type { TestPoolerOptions } from '../../test/test-pooler.ts';
import { migrate } from '../schema/migrate.ts';
import { requireDatabase } from '../schema/readiness.ts';
import { StoreUnavailableError } from './errors.ts';
import { createPool } from './pool.ts';
import { refuseTransactionPooler } from './transaction-pooler.ts';

const database = setup(createTestDatabase, (opened) => opened.drop());

/** The pooler never releases the lock, so a refusal waits this long. */
const RELEASE_TIMEOUT_MS = 200;
const REFUSAL =
  /^the pooler before Postgres shares sessions between clients \(transaction mode\): use session mode/;

async function through(options: TestPoolerOptions, work: (url: string) => Promise<void>): Promise<void> {
  const pooler = await startTestPooler(database.url, options);
  try {
    await work(pooler.url);
  } finally {
    await pooler.close();
  }
}

describe('a pooler in transaction mode is refused', () => {
  test.each(
    [1, 2, 5].flatMap((size) =>
      (['last', 'first'] as const).flatMap((order) =>
        (['after each transaction', 'never'] as const).map((cleans) => ({ size, order, cleans })),
      ),
    ),
  )('with $size sessions, the $order one used first, cleaned $cleans', async (options) => {
    await through({ mode: 'transaction', ...options }, async (url) => {
      await expect(refuseTransactionPooler(url, RELEASE_TIMEOUT_MS)).rejects.toThrow(REFUSAL);
    });
  });

  test('by each process at its start, and by the migrator, before they set anything', async () => {
    // A lock that goes with its transaction is refused without a wait.
    const session = { size: 1, order: 'last', cleans: 'after each transaction' } as const;
    await through({ mode: 'transaction', ...session }, async (url) => {
      const options = { databaseUrl: url, size: 1, applicationName: 'pooler-test', durableCommits: true };
      const pool = createPool({ ...options, onError: () => undefined });
      await expect(requireDatabase(pool)).rejects.toThrow(REFUSAL);
      await pool.end();
      await expect(migrate(url)).rejects.toThrow(REFUSAL);
    });
  });
});

describe('whoever keeps a session to itself is accepted', () => {
  test('Postgres, also by many at once', async () => {
    await Promise.all(Array.from({ length: 10 }, () => refuseTransactionPooler(database.url)));
  });

  test.each([1, 3])('a pooler in session mode with %s sessions', async (size) => {
    const mode = { mode: 'session', order: 'last', cleans: 'when the client leaves' } as const;
    await through({ ...mode, size }, async (url) => {
      await refuseTransactionPooler(url);
      await refuseTransactionPooler(url);
    });
  });
});

test('a Postgres that is away is unavailable', async () => {
  const away = { databaseUrl: 'postgres://nobody@127.0.0.1:9/none', size: 1, applicationName: 'pooler-test' };
  const pool = createPool({ ...away, durableCommits: true, onError: () => undefined });
  await expect(requireDatabase(pool)).rejects.toThrow(StoreUnavailableError);
  await pool.end();
});
