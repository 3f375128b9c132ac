import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import { createRows, createTestDatabase } from '@postrider/testing';
import type { TestDatabase } from '@postrider/testing';
import { openDatabase } from '../src/db/database.ts';
import type { Database } from '../src/db/database.ts';

/** A database without rows, and one connection to it, which keeps the first plan that it makes. */
export interface PlanStore {
  readonly db: Database;
  readonly database: TestDatabase;
}

/**
 * Registers hooks that clear one database for each test of the file, and open a new connection to it. A plan
 * that is kept must not depend on how large the tables were when it was made (decision 0012).
 *
 * @returns the store. Its properties exist in later hooks and in tests.
 */
export function setupPlanStore(): PlanStore {
  const store = {} as { db: Database; database: TestDatabase };
  beforeAll(async () => void (store.database = await createTestDatabase()));
  afterAll(() => store.database.drop());
  beforeEach(async () => {
    store.db = openDatabase(
      {
        databaseUrl: store.database.url,
        size: 1,
        applicationName: 'plans-test',
        onError: () => undefined,
      },
      { send: () => undefined, close: async () => undefined },
    );
    await createRows(store.database).clear();
  });
  afterEach(() => store.db.close());
  return store;
}
