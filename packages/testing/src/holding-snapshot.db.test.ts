import { expect, test } from '@jest/globals';
import { Pool } from 'pg';
import { createTestDatabase } from './database.ts';
import { holdingSnapshot } from './holding-snapshot.ts';
import { setup } from './setup.ts';
import { waitFor } from './wait-for.ts';

const database = setup(openPool, (opened) => opened.close());

async function openPool() {
  const opened = await createTestDatabase();
  const pool = new Pool({ connectionString: opened.url, max: 2 });
  pool.on('error', () => undefined); // the drop may end a connection that is closing
  return {
    query: async (sql: string): Promise<object[]> => (await pool.query<never>(sql)).rows,
    async close() {
      await pool.end();
      await opened.drop();
    },
  };
}

const HELD = `pg_stat_activity where datname = current_database() and backend_xmin is not null
  and pid <> pg_backend_pid() and backend_type = 'client backend'`;
const held = () => database.query(`select from ${HELD}`);

/** Postgres reports the error of a cancelled statement before it lets the snapshot go. */
const untilReleased = () => waitFor(async () => (await held()).length === 0, { what: 'the snapshot to end' });

test('a snapshot is held during the work, and not after it', async () => {
  expect(await holdingSnapshot(database, held)).toHaveLength(1);
  await untilReleased();
});

test('a snapshot that ends before the work is an error', async () => {
  async function cancel(): Promise<void> {
    await database.query(`select pg_cancel_backend(pid) from ${HELD}`);
    await untilReleased();
  }
  await expect(holdingSnapshot(database, cancel)).rejects.toThrow('the snapshot was not held to the end');
});
