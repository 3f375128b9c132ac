import type { EventId } from '@postrider/domain';
import type { Pool } from 'pg';
import { queryOn } from '../db/database.ts';

export interface EventMoment {
  /** Milliseconds since 1970. */
  readonly atMs: number;
  /**
   * False: this Postgres has no commit time for the event. `atMs` is then the event's own time, which is
   * before the commit.
   */
  readonly isCommitTime: boolean;
}

/**
 * Reads when the transaction that recorded the event committed (`track_commit_timestamp`).
 *
 * @returns null when there is no such event.
 */
export async function readEventMoment(pool: Pool, eventId: EventId): Promise<EventMoment | null> {
  // Without `track_commit_timestamp`, Postgres refuses to read commit times. The `case` prevents that.
  const { rows } = await queryOn<EventMoment>(
    pool,
    `select (extract(epoch from coalesce(committed_at, created_at)) * 1000)::float8 as "atMs",
            committed_at is not null as "isCommitTime"
     from (select created_at, case when current_setting('track_commit_timestamp')::boolean
                                   then pg_xact_commit_timestamp(xmin) end as committed_at
           from events where id = $1) as moment`,
    [eventId],
  );
  return rows[0] ?? null;
}
