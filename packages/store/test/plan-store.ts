import { afterAll, beforeAll } from '@jest/globals';
import { createTestDatabase } from '@postrider/testing';
import type { TestDatabase } from '@postrider/testing';
import { openDatabase } from '../src/db/database.ts';
import type { Database } from '../src/db/database.ts';

/** A database without rows, and one connection to it, which keeps the first plan that it makes. */
export interface PlanStore {
  readonly db: Database;
  readonly database: TestDatabase;
}

/**
 * Registers hooks that make one database for all tests of the file, and open one connection to it. A plan that is
 * kept must not depend on how large the tables were when it was made (decision 0012).
 *
 * @returns the store. Its properties exist in later hooks and in tests.
 */
export function setupPlanStore(): PlanStore {
  const store = {} as { db: Database; database: TestDatabase };
  beforeAll(async () => {
    store.database = await createTestDatabase();
    await store.database.query('vacuum analyze'); // Postgres knows that the tables are empty, as after a quiet day
    store.db = openDatabase(
      {
        databaseUrl: store.database.url,
        size: 1,
        applicationName: 'plans-test',
        onError: () => undefined,
      },
      { send: () => undefined, close: async () => undefined },
    );
  });
  afterAll(async () => {
    await store.db.close();
    await store.database.drop();
  });
  return store;
}
