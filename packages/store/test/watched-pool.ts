import type { Pool, PoolClient, QueryConfig } from 'pg';

/**
 * The pool, and the names of the statements that are sent by this view of it and by connections from it, in
 * order.
 */
export function watchedPool(pool: Pool): { readonly pool: Pool; readonly sent: readonly string[] } {
  const sent: string[] = [];
  function watched<T extends Pool | PoolClient>(db: T, more: PropertyDescriptorMap = {}): T {
    const query = async (statement: QueryConfig | string) => {
      sent.push(typeof statement === 'string' ? statement : (statement.name ?? statement.text));
      return db.query(statement);
    };
    return Object.create(db, { query: { value: query }, ...more }) as T;
  }
  const connect = async () => watched(await pool.connect());
  return { pool: watched(pool, { connect: { value: connect } }), sent };
}
