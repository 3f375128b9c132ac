import type { Pool, PoolClient, QueryConfig } from 'pg';

interface WatchedPool {
  readonly pool: Pool;
  /** The names of the statements that this view of the pool and its connections sent, in order. */
  readonly sent: readonly string[];
  /** The names of those that have ended, in order. */
  readonly ended: readonly string[];
  /** The next statement's answer waits for the returned function. */
  holdAnswer(): () => void;
}

export function watchedPool(pool: Pool): WatchedPool {
  const [sent, ended]: [string[], string[]] = [[], []];
  let held: Promise<void> | null = null;
  function watched<T extends Pool | PoolClient>(db: T, more: PropertyDescriptorMap = {}): T {
    const query = async (statement: QueryConfig | string) => {
      const name = typeof statement === 'string' ? statement : (statement.name ?? statement.text);
      const until = held;
      held = null;
      sent.push(name);
      try {
        return await db.query(statement);
      } finally {
        ended.push(name);
        await until;
      }
    };
    return Object.create(db, { query: { value: query }, ...more }) as T;
  }
  const connect = async () => watched(await pool.connect());
  function holdAnswer(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    held = promise;
    return resolve;
  }
  return { pool: watched(pool, { connect: { value: connect } }), sent, ended, holdAnswer };
}
