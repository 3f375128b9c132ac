import type { TestDatabase } from '@postrider/testing';

/** Counts of the limiter, and what tells of the database itself. */
const BESIDES = ['rate_limits', '_prisma_migrations'];

/** No migration runs during a test. */
const knownTables = new WeakMap<TestDatabase, readonly string[]>();

/** Every row of every table, as text: the same before and after what must store nothing. */
export async function everythingStored(database: TestDatabase): Promise<Readonly<Record<string, string[]>>> {
  const tables = knownTables.get(database) ?? (await tableNames(database));
  knownTables.set(database, tables);
  const of = (table: string) => {
    const row = `(${rowOf(table)})::text`;
    return `select '${table}' as name, coalesce(array_agg(${row} order by ${row}), '{}') as rows from ${table} t`;
  };
  const found = await database.query<{ name: string; rows: string[] }>(tables.map(of).join(' union all '));
  return Object.fromEntries(found.map(({ name, rows }) => [name, rows]));
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
