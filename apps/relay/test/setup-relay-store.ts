import { beforeEach } from '@jest/globals';
import { createRows, createTestDatabase, setup } from '@postrider/testing';
import type { Rows, TestDatabase } from '@postrider/testing';
import { openRelayPools } from '../src/open-pools.ts';
import type { RelayPools } from '../src/open-pools.ts';

export interface RelayStore extends RelayPools {
  readonly database: TestDatabase;
  readonly rows: Rows;
}

/** Registers hooks: one database for the test file with the relay's pools. Its tables are empty before each test. */
export function setupRelayStore(): RelayStore {
  const store = setup(openRelayStore, async ({ leases, pool, database }) => {
    await Promise.all([leases.end(), pool.end()]);
    await database.drop();
  });
  beforeEach(() => store.rows.clear());
  return store;
}

async function openRelayStore(): Promise<RelayStore> {
  const database = await createTestDatabase();
  const pools = openRelayPools({ databaseUrl: database.url, databasePoolSize: 4 }, () => undefined);
  return { ...pools, database, rows: createRows(database) };
}
