import type { Database } from '../src/db/database.ts';

/** A statement as the driver is given it. */
export interface AskedStatement {
  readonly text: string;
  readonly values: unknown[];
}

/** What the pool is asked while `work` runs, outside of transactions, in order. */
export async function statementsOf(
  { pool }: Database,
  work: () => Promise<unknown>,
): Promise<AskedStatement[]> {
  const query = pool.query.bind(pool) as (...given: unknown[]) => unknown;
  const asked: AskedStatement[] = [];
  pool.query = ((statement: AskedStatement, ...more: unknown[]) => {
    asked.push(statement);
    return query(statement, ...more);
  }) as typeof pool.query;
  try {
    await work();
  } finally {
    pool.query = query as typeof pool.query;
  }
  return asked;
}
