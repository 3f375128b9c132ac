import type { Pool, PoolClient } from 'pg';
import { inTransaction } from './pool.ts';

/** Rows in one step: some ten milliseconds of work, and as long as others may wait for its locks. */
export const ROWS_PER_STEP = 1_000;
/** A message may hold 5 MiB, which Postgres keeps in 2 KiB pieces: 20 of them are 50,000 rows to delete. */
export const MESSAGES_PER_STEP = 20;

/**
 * The planner goes by statistics that may be minutes old. After a flood they make a large table look small, and a scan
 * of the whole table look cheap. Without these nodes a step costs the rows that it asks for, whatever the statistics say.
 */
const BY_INDEX_ONLY = `
  set local enable_seqscan = off;
  set local enable_bitmapscan = off;
  set local enable_hashjoin = off;
  set local enable_mergejoin = off`;

/**
 * A column of age as the index for retention has it, if the table has lists by that column too (decision 0012): the same
 * value, in a form that no list uses.
 */
export function forRetention(column: string): string {
  return `greatest(${column}, '-infinity')`;
}

/** Runs one step of housekeeping: a transaction whose statements reach rows by indexes only. */
export async function inBoundedStep<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  return inTransaction(pool, async (client) => {
    await client.query(BY_INDEX_ONLY);
    return work(client);
  });
}

/** What processes share by name: one of them does it at a time. */
export type Chore =
  | 'expired records'
  | 'stray attempts'
  | 'old events'
  | 'mail contents'
  | 'old mail'
  | 'received mail'
  | 'old threads'
  | 'removed inboxes'
  | 'swept blobs'
  | 'old dead letters'
  | 'surplus dead letters';

/**
 * Runs one step of a chore, unless another process is at one.
 *
 * @returns null when another is: it goes on from the beginning, and this one stops.
 */
export async function inSoleStep<T>(
  pool: Pool,
  chore: Chore,
  work: (client: PoolClient) => Promise<T>,
): Promise<T | null> {
  return inBoundedStep(pool, async (client) => {
    const { rows } = await client.query<{ mine: boolean }>(
      `select pg_try_advisory_xact_lock(hashtextextended('housekeeping/' || $1, 0)) as mine`,
      [chore],
    );
    return rows[0]?.mine === true ? work(client) : null;
  });
}

/** One step of a walk: where the next one begins, null at the end, and the rows that this one ended. */
export interface WalkStep {
  readonly last: string | null;
  readonly ended: number;
}

/**
 * Walks over a table by age, the oldest rows first, one transaction a step. What a step leaves is left for the next walk.
 *
 * @param step is given where to begin: a time, as text. @returns how many rows the steps ended.
 */
export async function walkByAge(
  pool: Pool,
  chore: Chore,
  step: (client: PoolClient, after: string) => Promise<WalkStep>,
): Promise<number> {
  let total = 0;
  for (let after: string | null = '-infinity'; after !== null;) {
    const from: string = after;
    const done = await inSoleStep(pool, chore, (client) => step(client, from));
    total += done?.ended ?? 0;
    after = done?.last ?? null;
  }
  return total;
}

/** What a page of a walk found: where it ends, and which of its rows may go. */
export interface AgedPage {
  readonly last: string | null;
  readonly ids: string[];
}

/**
 * Reads a page of what is past its days. Rows of one moment come together, so a time is enough of a cursor.
 *
 * @param which the table, its age as its index has it, what the index by it holds of the table, and which rows may go (of `page`).
 */
export async function readAgedPage(
  client: PoolClient,
  which: {
    readonly table: string;
    readonly age: string;
    readonly indexed?: string;
    readonly mayGo: string;
    readonly rows: number;
  },
  { after, days }: { readonly after: string; readonly days: number },
): Promise<AgedPage> {
  const { table, age, indexed = 'true', mayGo, rows } = which;
  const found = await client.query<AgedPage>(
    `with page as materialized (
       select id, ${age} as at from ${table}
       where ${indexed} and ${age} > $1::timestamptz and ${age} < now() - make_interval(days => $2)
       order by ${age} fetch first ${rows} rows with ties
     )
     select (select max(at)::text from page) as last, array(select id from page where ${mayGo}) as ids`,
    [after, days],
  );
  return found.rows[0] ?? { last: null, ids: [] };
}

/**
 * Drops rows by their age alone, but for those that somebody holds. @returns how many.
 *
 * @param which the table, its age as its index has it, and what of it is past its time: an interval.
 */
export async function dropAged(
  pool: Pool,
  chore: Chore,
  { table, age, kept }: { readonly table: string; readonly age: string; readonly kept: string },
): Promise<number> {
  // A row that was changed meanwhile lies elsewhere: it is left.
  const drop = `
    with page as materialized (
      select ctid, ${age} as at from ${table}
      where ${age} > $1::timestamptz and ${age} < now() - ${kept}
      order by ${age} fetch first ${ROWS_PER_STEP} rows with ties
    ),
    mine as materialized (
      select ctid from ${table} where ctid = any (array(select ctid from page)) for update skip locked
    ),
    gone as (
      delete from ${table} where ctid = any (array(select ctid from mine)) returning 1
    )
    select (select max(at)::text from page) as last, (select count(*)::int from gone) as ended`;
  return walkByAge(pool, chore, async (client, after) => {
    const { rows } = await client.query<WalkStep>(drop, [after]);
    return rows[0] ?? { last: null, ended: 0 };
  });
}
