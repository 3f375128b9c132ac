import { createRows, createTestDatabase } from '@postrider/testing';
import type { Rows, TestDatabase } from '@postrider/testing';
import { openRelayPool } from '../src/open-pool.ts';

export interface RelayStore {
  readonly database: TestDatabase;
  readonly rows: Rows;
  readonly pool: ReturnType<typeof openRelayPool>;
  close(): Promise<void>;
}

/** A database of its own, with the pool that the relay has. */
export async function openRelayStore(): Promise<RelayStore> {
  const database = await createTestDatabase();
  const pool = openRelayPool({ databaseUrl: database.url, databasePoolSize: 4 }, () => undefined);
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
