import type { Pool, QueryConfig } from 'pg';

/** The pool, and the names of the statements that are sent by this view of it, in order. */
export function watchedPool(pool: Pool): { readonly pool: Pool; readonly sent: readonly string[] } {
  const sent: string[] = [];
  const query = async (config: QueryConfig) => {
    sent.push(config.name ?? config.text);
    return pool.query(config);
  };
  return { pool: Object.create(pool, { query: { value: query } }) as Pool, sent };
}
