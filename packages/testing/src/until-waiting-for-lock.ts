import type { TestDatabase } from './database.ts';
import { waitFor } from './wait-for.ts';

/** Waits until `count` sessions of this database wait for a lock. */
export async function untilWaitingForLock(database: Pick<TestDatabase, 'query'>, count = 1): Promise<void> {
  await waitFor(
    async () => {
      const [row] = await database.query<{ waiting: number }>(
        `select count(*)::int as waiting from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return (row?.waiting ?? 0) >= count;
    },
    { what: `${count} sessions to wait for a lock`, intervalMs: 2 },
  );
}
