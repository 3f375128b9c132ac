import { waitFor } from '@postrider/testing';
import type { TestDatabase } from '@postrider/testing';
import type { Pool, PoolClient } from 'pg';

/** Runs `work` in an open transaction of a session of its own; what it does not commit is undone at the end. */
export async function inUndoneTransaction<T>(
  pool: Pool,
  work: (session: PoolClient) => Promise<T>,
): Promise<T> {
  const session = await pool.connect();
  try {
    await session.query('begin');
    return await work(session);
  } finally {
    await session.query('rollback');
    session.release();
  }
}

/** Waits until `count` sessions of this database wait for somebody's lock. */
export async function untilWaitingForLock(database: TestDatabase, count = 1): Promise<void> {
  await waitFor(
    async () => {
      const [row] = await database.query<{ waiting: number }>(
        `select count(*)::int as waiting from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return (row?.waiting ?? 0) >= count;
    },
    { what: `${count} sessions to wait for a lock` },
  );
}
