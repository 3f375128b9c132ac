import type { Pool } from 'pg';
import { queryOn } from './database.ts';

/** The next transaction id at some moment. */
interface Mark {
  readonly next: number;
  readonly atMs: number;
}

/**
 * Finds the oldest transaction that keeps a vacuum from removing dead rows of this database. It considers the
 * snapshots and transactions of sessions, the snapshots of standbys with `hot_standby_feedback`, and prepared
 * transactions. It ignores autovacuum workers, as Postgres does.
 *
 * Returns the next transaction id, and how many ids behind it the oldest transaction is: 0 for none. `age()`
 * counts from the next id at its call, which may be a few ids after `next`. We subtract that difference. An
 * xid is the lower 32 bits of an id, so it is `next % 4294967296`.
 */
const OLDEST = `
  with next_id as (select pg_snapshot_xmax(pg_current_snapshot())::text::bigint as next),
  holders (xmin) as (
    select unnest(array[backend_xmin, backend_xid])
    from pg_stat_activity
    where pid <> pg_backend_pid() and (datname = current_database() or backend_type = 'walsender')
      and backend_type <> 'autovacuum worker'
    union all select xmin from pg_replication_slots
    union all select transaction from pg_prepared_xacts where database = current_database()
  )
  select next::float8,
         (select greatest(0, max(age(xmin)) - age((next % 4294967296)::text::xid)) from holders)::float8 as behind
  from next_id`;

/**
 * Returns a function that measures the age of the oldest snapshot in seconds; 0 when there is none.
 *
 * A snapshot names its first transaction, but not the time. The function remembers ids and times from earlier
 * calls. A snapshot from before the first call counts from that call.
 *
 * @param nowMs a monotonic clock
 */
export function createSnapshotWatch(pool: Pool, nowMs = () => performance.now()): () => Promise<number> {
  let marks: Mark[] = [];
  return async () => {
    const atMs = nowMs();
    const { rows } = await queryOn<{ next: number; behind: number }>(pool, OLDEST);
    const [row] = rows;
    if (row === undefined) throw new Error('Postgres returned no transaction id');
    marks.push({ next: row.next, atMs });
    const oldest = row.next - row.behind;
    const first = Math.max(
      0,
      marks.findLastIndex(({ next }) => next <= oldest),
    );
    // Earlier marks are not needed again: the oldest snapshot only gets younger.
    marks = marks.slice(first);
    return (atMs - (marks[0]?.atMs ?? atMs)) / 1000;
  };
}
