import type { TestDatabase } from '@postrider/testing';

/** Counts of the limiter, and what tells of the database itself. */
const BESIDES = ['rate_limits', '_prisma_migrations'];

/** The databases whose connection has the statement. No migration runs during a test. */
const prepared = new WeakSet<TestDatabase>();

/**
 * The number of rows of every table and the sum of their hashes: the same before and after what must store nothing.
 * Tests ask for this hundreds of times while the tables grow, so the rows stay in Postgres.
 */
export async function everythingStored(database: TestDatabase): Promise<Readonly<Record<string, string>>> {
  if (!prepared.has(database)) await prepare(database);
  const found = await database.query<{ name: string; rows: string }>('execute everything_stored');
  return Object.fromEntries(found.map(({ name, rows }) => [name, rows]));
}

/** To plan the statement takes as long as to run it. */
async function prepare(database: TestDatabase): Promise<void> {
  const of = (table: string) =>
    `select '${table}' as name, count(*) || ' rows, ' || coalesce(sum(hashtextextended((${rowOf(table)})::text, 0)), 0) as rows
     from ${table} t`;
  const tables = await tableNames(database);
  await database.query(`prepare everything_stored as ${tables.map(of).join(' union all ')}`);
  prepared.add(database);
}

/**
 * An SQL expression: a row `t` of this table as JSON. The first request of an hour stores that its key is used, also
 * when the request stores nothing: this is left out.
 */
export function rowOf(table: string): string {
  return table === 'api_keys' ? `to_jsonb(t) - 'last_used_at'` : 'to_jsonb(t)';
}

/** The tables that the product's own rows are in. */
export async function tableNames(database: TestDatabase): Promise<string[]> {
  const tables = await database.query<{ name: string }>(
    `select relname as name from pg_class
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition`,
  );
  return tables.map(({ name }) => name).filter((name) => !BESIDES.includes(name));
}
