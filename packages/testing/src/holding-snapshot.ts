import { waitFor } from './wait-for.ts';

/** The statement is cancelled. It only has to last longer than any work. */
const HOLD = 'select pg_sleep(86400)';
const HOLDERS = `pg_stat_activity where datname = current_database() and query = '${HOLD}' and state = 'active'`;
const QUERY_CANCELED = '57014';

interface Database {
  query(sql: string): Promise<readonly object[]>;
}

/**
 * Holds a snapshot with a statement that runs during `work`. It needs a connection of its own.
 *
 * @throws Error when the snapshot was not held to the end
 */
export async function holdingSnapshot<T>(database: Database, work: () => Promise<T>): Promise<T> {
  const isHeld = async (): Promise<boolean> =>
    (await database.query(`select from ${HOLDERS} and backend_xmin is not null`)).length === 1;
  const ended = database.query(HOLD).then(
    () => new Error('the snapshot was let go'),
    (error: unknown) => error,
  );
  try {
    await waitFor(isHeld, { what: 'the snapshot to be held' });
    const done = await work();
    if (!(await isHeld())) throw new Error('the snapshot was not held to the end');
    return done;
  } finally {
    await database.query(`select pg_cancel_backend(pid) from ${HOLDERS}`);
    const error = await ended;
    if ((error as { code?: unknown }).code !== QUERY_CANCELED) throw error;
  }
}
