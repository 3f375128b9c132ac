import type { Pool, PoolClient } from 'pg';
import { readAgedPage, ROWS_PER_STEP, walkByAge } from '../db/bounded-step.ts';
import { mappingUnavailable } from '../db/errors.ts';

/** An erasure finds attempts by their event, so the event outlives them. */
const UNUSED = `
  not exists (select from deliveries d where d.event_id = page.id)
  and not exists (select from attempts a where a.event_id = page.id)`;

/** Drops events past their days that have neither an outstanding delivery nor a logged attempt. @returns how many. */
export async function dropOldEvents(pool: Pool, days: number): Promise<number> {
  return mappingUnavailable(() =>
    walkByAge(pool, 'old events', async (client, after) => {
      const which = { table: 'events', age: 'created_at', mayGo: UNUSED, rows: ROWS_PER_STEP };
      const { last, ids } = await readAgedPage(client, which, { after, days });
      return { last, ended: await dropUnused(client, ids) };
    }),
  );
}

/**
 * First locks the events, then drops, with a fresh snapshot, those without delivery and attempt. An old event gets a delivery by a
 * replay only, and that writes the event, too. One that has committed is seen; one that is under way holds the event, which
 * is skipped, or waits for this commit and writes the event anew. Its attempts are of this hour: others were seen before.
 *
 * @returns how many were dropped.
 */
async function dropUnused(client: PoolClient, ids: readonly string[]): Promise<number> {
  if (ids.length === 0) return 0;
  const { rows } = await client.query<{ id: string }>(
    'select id from events where id = any ($1::text[]) order by id for update skip locked',
    [ids],
  );
  const { rowCount } = await client.query(
    `delete from events e
     where e.id = any ($1::text[]) and not exists (select from deliveries d where d.event_id = e.id)
       and not exists (
         select from attempts a where a.event_id = e.id and a.started_at > now() - interval '1 hour')`,
    [rows.map(({ id }) => id)],
  );
  return rowCount ?? 0;
}
