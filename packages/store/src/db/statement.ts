import type { Pool, QueryResultRow } from 'pg';
import type { Prisma } from '../generated/client.ts';

/** A raw statement with a name: prepared once a connection, planned once. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** What runs a statement: the pool, or one connection of it. */
export type Queryable = Pick<Pool, 'query'>;

/** A statement that Prisma runs carries its name in front: Prisma's raw queries have no other place for one. */
const NAMED = /^\/\* ([a-z-]+) \*\/ /;

export async function run<Row extends QueryResultRow>(
  db: Queryable,
  statement: Statement,
  values: readonly unknown[],
): Promise<Row[]> {
  const result = await db.query<Row>({
    name: statement.name,
    text: withName(statement),
    values: [...values],
  });
  return result.rows;
}

/** Runs a statement that always gives one row. @throws Error when it gives none */
export async function runForRow<Row extends QueryResultRow>(
  db: Queryable,
  statement: Statement,
  values: readonly unknown[],
): Promise<Row> {
  const [row] = await run<Row>(db, statement, values);
  if (row === undefined) throw new Error(`no row of ${statement.name}`);
  return row;
}

/** Runs a statement in a transaction of Prisma's, prepared as `run` prepares it. */
export async function runIn<Row extends object>(
  client: Prisma.TransactionClient,
  statement: Statement,
  values: readonly unknown[],
): Promise<Row[]> {
  return client.$queryRawUnsafe<Row[]>(withName(statement), ...values);
}

/** The name of a query that `runIn` made; empty, which prepares nothing, for Prisma's own: they may be of any number. */
export function statementNameOf({ sql }: { readonly sql: string }): string {
  return NAMED.exec(sql)?.[1] ?? '';
}

function withName({ name, text }: Statement): string {
  return `/* ${name} */ ${text}`;
}
