import type { Pool, PoolClient } from 'pg';
import { inTransaction } from './pool.ts';

/** Rows in one step: about ten milliseconds of work. Other transactions wait that long for its locks. */
export const ROWS_PER_STEP = 1_000;
/**
 * A message may have 5 MiB, which Postgres keeps in pieces of 2 KiB. So 20 messages are 50,000 rows to
 * delete.
 */
export const MESSAGES_PER_STEP = 20;

/**
 * The planner's statistics may be minutes old. After a flood, a large table looks small to it, and a scan of
 * the whole table looks cheap. With these settings, a step costs only the rows that it asks for.
 */
const BY_INDEX_ONLY = `
  set local enable_seqscan = off;
  set local enable_bitmapscan = off;
  set local enable_hashjoin = off;
  set local enable_mergejoin = off`;

/**
 * An SQL expression: the age column, written as the retention index has it. Its value is that of the column.
 * Lists sort by the column itself, so Postgres never uses the retention index for a list (decision 0012).
 */
export function forRetention(column: string): string {
  return `greatest(${column}, '-infinity')`;
}

/**
 * A condition: no row of the table has this value in the column. Each check is one index look-up.
 * `not exists` may become a join that reads a whole index (decision 0012).
 */
export function lacks(table: string, column: string, value: string): string {
  return `(select true from ${table} other where other.${column} = ${value} limit 1) is null`;
}

/**
 * The same for the messages of a mail thread. The order is that of the index by thread, so Postgres uses it.
 */
export function lacksMessages(thread: string): string {
  return `(select true from messages m where m.thread_id = ${thread} order by m.created_at, m.id limit 1) is null`;
}

/** Runs one step of housekeeping: a transaction whose statements find rows by index only. */
export async function inBoundedStep<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  return inTransaction(pool, async (client) => {
    await client.query(BY_INDEX_ONLY);
    return work(client);
  });
}

/**
 * An SQL expression: the newest time of `page`, after which the next page starts. Null when `page` is the
 * last one: it has fewer rows than `rows`. Rows that arrive later are left for the next run: they may arrive
 * faster than we read.
 */
export function nextStart(age: string, rows: number): string {
  return `(select case when count(*) >= ${rows} then max(${age})::text end from page)`;
}

/** The start of the next step (null at the end), and how many rows this step deleted. */
interface AgeStep {
  readonly next: string | null;
  readonly deleted: number;
}

/**
 * Goes through a table by age, the oldest rows first, with one transaction per step. Rows that a step skips
 * are left for the next run.
 *
 * @param step gets the time to start after, as text.
 * @returns how many rows the steps deleted.
 */
async function inStepsByAge(
  pool: Pool,
  step: (client: PoolClient, after: string) => Promise<AgeStep>,
): Promise<number> {
  let total = 0;
  for (let after: string | null = '-infinity'; after !== null;) {
    const from: string = after;
    const { next, deleted } = await inBoundedStep(pool, (client) => step(client, from));
    total += deleted;
    after = next;
  }
  return total;
}

/**
 * Deletes rows that are older than `days`, a page per step. Rows with equal times are in one page, so a time
 * is enough as a cursor.
 *
 * @param drop deletes rows of a page. It returns how many; null when the next step must read the page again.
 * @returns how many rows were deleted.
 */
export async function dropPages(
  pool: Pool,
  which: {
    readonly table: string;
    /** The age as indexed. */
    readonly age: string;
    /** The condition in that index. */
    readonly indexed?: string;
    /** The time from which the days count back, as SQL. */
    readonly now?: string;
    /** A condition on `page`: which rows may be deleted. */
    readonly mayGo?: string;
    /** Rows per page, without ties. */
    readonly rows: number;
  },
  days: number,
  drop: (client: PoolClient, ids: readonly string[]) => Promise<number | null>,
): Promise<number> {
  const { table, age, indexed = 'true', now = 'now()', mayGo = 'true', rows } = which;
  const page = `
    with page as materialized (
      select id, ${age} as at from ${table}
      where ${indexed} and ${age} > $1::timestamptz and ${age} < ${now} - make_interval(days => $2)
      order by ${age} fetch first ${rows} rows with ties
    )
    select ${nextStart('at', rows)} as next, array(select id from page where ${mayGo}) as ids`;
  return inStepsByAge(pool, async (client, after) => {
    const found = await client.query<{ next: string | null; ids: string[] }>(page, [after, days]);
    const { next, ids } = found.rows[0] ?? { next: null, ids: [] };
    const deleted = ids.length === 0 ? 0 : await drop(client, ids);
    return deleted === null ? { next: after, deleted: 0 } : { next, deleted };
  });
}

/** A `drop` for `dropPages`: one statement, which gets the ids. */
export function byStatement(text: string) {
  return async (client: PoolClient, ids: readonly string[]): Promise<number> =>
    (await client.query(text, [ids])).rowCount ?? 0;
}

/**
 * Deletes rows by age alone. Locked rows are skipped.
 *
 * @param which the table, its age as indexed, and how long rows are kept: an SQL interval.
 * @returns how many rows were deleted.
 */
export async function dropAged(
  pool: Pool,
  { table, age, kept }: { readonly table: string; readonly age: string; readonly kept: string },
): Promise<number> {
  // A row that was updated meanwhile has another ctid: it is skipped.
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
    select ${nextStart('at', ROWS_PER_STEP)} as next, (select count(*)::int from gone) as deleted`;
  return inStepsByAge(pool, async (client, after) => {
    const { rows } = await client.query<AgeStep>(drop, [after]);
    return rows[0] ?? { next: null, deleted: 0 };
  });
}
