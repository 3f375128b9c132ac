import type { Pool, QueryResultRow } from 'pg';

/** A raw statement with a name: prepared once a connection, planned once. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** What runs a statement: the pool, or one connection of it. */
export type Queryable = Pick<Pool, 'query'>;

export async function run<Row extends QueryResultRow>(
  db: Queryable,
  statement: Statement,
  values: readonly unknown[],
): Promise<Row[]> {
  const result = await db.query<Row>({ name: statement.name, text: statement.text, values: [...values] });
  return result.rows;
}
