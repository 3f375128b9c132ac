import type { Pool, QueryResultRow } from 'pg';
import type { Prisma } from '../generated/client.ts';

/** A raw statement with a name. It is prepared once per connection, and planned once. */
export interface Statement {
  readonly name: string;
  /** Begins with the name in a comment. Prisma's raw queries have no other place for it. */
  readonly text: string;
}

/** A template tag for the text of the statement `name`. It joins the parts and escapes nothing. */
export function statement(name: string) {
  return (texts: TemplateStringsArray, ...parts: readonly string[]): Statement => {
    return { name, text: `/* ${name} */ ${String.raw({ raw: texts }, ...parts)}` };
  };
}

/** Runs statements: the pool, or one of its connections. */
export type Queryable = Pick<Pool, 'query'>;

const NAMED = /^\/\* ([a-z-]+) \*\/ /;

export async function run<Row extends QueryResultRow>(
  db: Queryable,
  statement: Statement,
  values: readonly unknown[],
): Promise<Row[]> {
  const { name, text } = statement;
  const result = await db.query<Row>({ name, text, values: [...values] });
  return result.rows;
}

/** Runs a statement that always returns one row. @throws Error when it returns none */
export async function runForRow<Row extends QueryResultRow>(
  db: Queryable,
  statement: Statement,
  values: readonly unknown[],
): Promise<Row> {
  const [row] = await run<Row>(db, statement, values);
  if (row === undefined) throw new Error(`no row of ${statement.name}`);
  return row;
}

/** Runs a statement in a Prisma transaction. It is prepared as in `run`. */
export async function runIn<Row extends object>(
  client: Prisma.TransactionClient,
  statement: Statement,
  values: readonly unknown[],
): Promise<Row[]> {
  return client.$queryRawUnsafe<Row[]>(statement.text, ...values);
}

/**
 * The name of a query that `runIn` made. Empty for Prisma's own queries: nothing bounds how many texts they
 * have, so they are not prepared.
 */
export function statementNameOf({ sql }: { readonly sql: string }): string {
  return NAMED.exec(sql)?.[1] ?? '';
}
