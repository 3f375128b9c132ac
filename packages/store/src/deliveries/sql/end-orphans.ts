import type { Statement } from '../../db/statement.ts';

/**
 * Removes deliveries whose event is gone: there is nothing to send, and each lease would only be followed by another.
 *
 * Guarantee: fenced and locked as in finish-done. A delivery whose event is there is never touched.
 *
 * $1 delivery ids, $2 claims held, $3 events, $4 webhooks. Returns the deliveries removed.
 */
export const endOrphans: Statement = {
  name: 'end-orphans',
  text: `
    with mine as materialized (
      select d.id
      from deliveries d
      join unnest($1::bigint[], $2::int[], $3::text[], $4::text[]) u (id, claim, event_id, webhook_id)
        using (id, claim, event_id, webhook_id)
      where d.id = any ($1::bigint[]) and not exists (select from events e where e.id = d.event_id)
      order by d.id
      for update of d
    )
    delete from deliveries d where d.id = any (array(select id from mine))
    returning d.id`,
};
