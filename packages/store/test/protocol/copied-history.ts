import type { TestDatabase } from '@postrider/testing';

/** All that the protocol writes. `deliveries_made` comes last: inserting deliveries writes it, too. */
const TABLES = ['webhooks', 'events', 'deliveries', 'dead_letters', 'attempts', 'deliveries_made'];
const SEQUENCE = `pg_get_serial_sequence('deliveries', 'id')`;

/** Makes room for a copy of the tables and of the sequence. */
export async function prepareCopies(database: TestDatabase): Promise<void> {
  await database.query('create schema copied');
  await database.query('create table copied.sequence (next bigint)');
  for (const table of TABLES) await database.query(`create table copied.${table} (like public.${table})`);
}

/** Copies the database, as a backup does. */
export async function copyHistory(database: TestDatabase): Promise<void> {
  const copies = TABLES.map(
    (table) => `delete from copied.${table}; insert into copied.${table} table public.${table};`,
  );
  await database.query(`do $$ begin
    ${copies.join('\n')}
    delete from copied.sequence;
    insert into copied.sequence select nextval(${SEQUENCE});
  end $$`);
}

/** Puts the copy in the place of the database. Ids given out since will be given out again. @returns the outstanding, in their order. */
export async function restoreHistory(database: TestDatabase): Promise<readonly string[]> {
  const restores = TABLES.map((table) => `delete from public.${table};`);
  const inserts = TABLES.map(
    (table) =>
      `insert into public.${table} overriding system value table copied.${table} on conflict do nothing;`,
  );
  await database.query(`do $$ begin
    ${[...restores, ...inserts].join('\n')}
    perform setval(${SEQUENCE}, next, false) from copied.sequence;
  end $$`);
  const rows = await database.query<{ id: string }>('select id::text from deliveries order by due_at, id');
  return rows.map(({ id }) => id);
}
