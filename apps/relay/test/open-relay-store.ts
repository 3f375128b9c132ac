import { createPool } from '@postrider/store';
import { createRows, createTestDatabase } from '@postrider/testing';
import type { Rows, TestDatabase } from '@postrider/testing';

export interface RelayStore {
  readonly database: TestDatabase;
  readonly rows: Rows;
  readonly pool: ReturnType<typeof createPool>;
  close(): Promise<void>;
}

/** A database of its own, with a pool as the relay has one. */
export async function openRelayStore(): Promise<RelayStore> {
  const database = await createTestDatabase();
  const pool = createPool({
    databaseUrl: database.url,
    size: 4,
    applicationName: 'relay-test',
    durableCommits: false,
    onError: () => undefined,
  });
  return {
    database,
    rows: createRows(database),
    pool,
    async close() {
      await pool.end();
      await database.drop();
    },
  };
}
