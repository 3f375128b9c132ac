import { createRows, createTestDatabase } from '@postrider/testing';
import type { Rows, TestDatabase } from '@postrider/testing';
import { openRelayPools } from '../src/open-pools.ts';
import type { RelayPools } from '../src/open-pools.ts';

export interface RelayStore extends RelayPools {
  readonly database: TestDatabase;
  readonly rows: Rows;
  close(): Promise<void>;
}

/** A database of its own, with the pools that the relay has. */
export async function openRelayStore(): Promise<RelayStore> {
  const database = await createTestDatabase();
  const pools = openRelayPools({ databaseUrl: database.url, databasePoolSize: 4 }, () => undefined);
  return {
    ...pools,
    database,
    rows: createRows(database),
    async close() {
      await Promise.all([pools.claims.end(), pools.pool.end()]);
      await database.drop();
    },
  };
}
