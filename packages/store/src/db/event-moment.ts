import type { EventId } from '@postrider/domain';
import type { Pool } from 'pg';
import { queryOn } from './database.ts';

export interface EventMoment {
  /** Milliseconds since 1970. */
  readonly atMs: number;
  /**
   * False: this Postgres keeps no commit times. `atMs` is then the event's own time, which is before the
   * commit.
   */
  readonly committed: boolean;
}

/**
 * Reads when the transaction that recorded the event committed (`track_commit_timestamp`).
 *
 * @returns null when there is no such event.
 */
export async function readEventMoment(pool: Pool, eventId: EventId): Promise<EventMoment | null> {
  // A query of its own: a Postgres without commit times refuses the call of `pg_xact_commit_timestamp`.
  const tracked = await queryOn<{ on: boolean }>(
    pool,
    `select current_setting('track_commit_timestamp')::boolean as on`,
  );
  const committed = tracked.rows[0]?.on === true;
  const moment = committed ? 'pg_xact_commit_timestamp(xmin)' : 'created_at';
  const { rows } = await queryOn<{ ms: number }>(
    pool,
    `select (extract(epoch from ${moment}) * 1000)::float8 as ms from events where id = $1`,
    [eventId],
  );
  const [row] = rows;
  return row === undefined ? null : { atMs: row.ms, committed };
}
