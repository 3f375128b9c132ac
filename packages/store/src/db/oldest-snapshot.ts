import type { Pool } from 'pg';
import { mappingUnavailable } from './errors.ts';

/** A transaction id that was the next to be given out, and when. */
interface Mark {
  readonly next: number;
  readonly atMs: number;
}

/**
 * What keeps a vacuum from removing dead rows of this database: the snapshots and transactions of its sessions, of standbys
 * that feed theirs back (`hot_standby_feedback`), and prepared transactions. Postgres leaves autovacuum out, too.
 *
 * Returns the next transaction id, and how many ids ago the oldest of them begins. `age` counts from the next id to
 * be given out, which may be a few past the end of the snapshot: these are taken off again.
 */
const OLDEST = `
  with now_at as (select pg_snapshot_xmax(pg_current_snapshot())::text::bigint as next),
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
  from now_at`;

/**
 * Tells how old the oldest snapshot is, in seconds; 0 when nothing is held back. A snapshot says since which transaction it
 * holds, not since when: that is known from earlier calls. One from before the first call counts from then.
 *
 * @param nowMs a monotonic clock
 */
export function createSnapshotWatch(pool: Pool, nowMs = () => performance.now()): () => Promise<number> {
  let marks: Mark[] = [];
  return async () => {
    const atMs = nowMs();
    const { rows } = await mappingUnavailable(() =>
      pool.query<{ next: number; behind: number | null }>(OLDEST),
    );
    const [row] = rows;
    if (row === undefined) throw new Error('the transaction ids were not told');
    marks.push({ next: row.next, atMs });
    const oldest = row.next - (row.behind ?? 0);
    const since = Math.max(
      0,
      marks.findLastIndex(({ next }) => next <= oldest),
    );
    // What began before cannot be asked for any more: the oldest only gets younger.
    marks = marks.slice(since);
    return (atMs - (marks[0]?.atMs ?? atMs)) / 1000;
  };
}
