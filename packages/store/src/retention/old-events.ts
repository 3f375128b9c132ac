import type { Pool, PoolClient } from 'pg';
import { dropPages, lacks, ROWS_PER_STEP } from '../db/bounded-step.ts';

/**
 * A CTE that deletes the rows of the second and further recipients of the deleted events in `gone`. The first
 * recipient has no row in `event_recipients`.
 */
export const FURTHER_RECIPIENTS = `
  further as (
    delete from event_recipients
    where ctid = any (array(
      select r.at
      from gone g
      cross join lateral unnest(g.recipients[2:]) k (key)
      cross join lateral (
        select ctid as at from event_recipients
        where key = k.key and type = g.type and position = g.position offset 0
      ) r))
  )`;

/** An erasure finds attempts by their event. So an event stays as long as one of its attempts is logged. */
const UNUSED = `
  ${lacks('deliveries', 'event_id', 'page.id')}
  and ${lacks('attempts', 'event_id', 'page.id')}`;

/**
 * The start of today. The log of attempts drops whole days in UTC, so events of its oldest day still have
 * attempts. With `now()`, each hourly pass would read these events again, and delete none.
 */
const TODAY = `date_trunc('day', now(), 'utc')`;

/** Deletes old events that have neither an outstanding delivery nor a logged attempt. @returns how many. */
export async function dropOldEvents(pool: Pool, days: number): Promise<number> {
  const which = { table: 'events', age: 'created_at', now: TODAY, mayGo: UNUSED, rows: ROWS_PER_STEP };
  return dropPages(pool, which, days, dropUnused);
}

/**
 * Locks the events. Then, with a new snapshot, it deletes the events without a delivery and without a recent
 * attempt.
 *
 * Only a replay adds a delivery to an old event, and it writes the event, too. A replay that has committed is
 * seen. A running replay has locked the event, so the event is skipped; or the replay waits for this commit,
 * and then writes the event again. Only attempts of the last hour are checked again, because the caller has
 * checked the older ones.
 *
 * @returns how many were deleted.
 */
async function dropUnused(client: PoolClient, ids: readonly string[]): Promise<number> {
  const { rows } = await client.query<{ id: string }>(
    'select id from events where id = any ($1::text[]) order by id for update skip locked',
    [ids],
  );
  const { rowCount } = await client.query(
    `with gone as (
       delete from events e
       where e.id = any ($1::text[]) and ${lacks('deliveries', 'event_id', 'e.id')}
         and (select true from attempts a
              where a.event_id = e.id and a.started_at > now() - interval '1 hour' limit 1) is null
       returning e.type, e.position, e.recipients
     ),
     ${FURTHER_RECIPIENTS}
     select from gone`,
    [rows.map(({ id }) => id)],
  );
  return rowCount ?? 0;
}
