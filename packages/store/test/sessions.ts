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
