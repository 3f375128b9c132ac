import type { Database } from '@postrider/store';

/** A moment of an event, in milliseconds since 1970, and what it is the moment of. */
export interface EventMoment {
  readonly atMs: number;
  readonly words: string;
}

/**
 * When the transaction that recorded the event was committed, as Postgres wrote it down. One that does not keep commit
 * times (`track_commit_timestamp`, on in the embedded Postgres) leaves the event's own time, which is before the commit.
 */
export async function eventMoment(database: Database, eventId: string): Promise<EventMoment> {
  const tracked = await database.pool.query<{ on: boolean }>(
    `select current_setting('track_commit_timestamp')::boolean as on`,
  );
  if (tracked.rows[0]?.on === true) {
    const atMs = await readMs(database, 'pg_xact_commit_timestamp(xmin)', eventId);
    return { atMs, words: 'the commit that recorded the event (commit time as Postgres keeps it)' };
  }
  const atMs = await readMs(database, 'created_at', eventId);
  return { atMs, words: 'the event was written (its created_at: this Postgres keeps no commit times)' };
}

async function readMs(database: Database, moment: string, eventId: string): Promise<number> {
  const { rows } = await database.pool.query<{ ms: number }>(
    `select (extract(epoch from ${moment}) * 1000)::float8 as ms from events where id = $1`,
    [eventId],
  );
  const [row] = rows;
  if (row === undefined) throw new Error(`event ${eventId} has arrived and is not in the database`);
  return row.ms;
}
