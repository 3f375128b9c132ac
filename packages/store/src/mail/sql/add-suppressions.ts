import { eventCtes } from '../../db/sql/event-ctes.ts';
import { lockOrder } from '../../db/sql/lock-order.ts';
import type { Statement } from '../../db/statement.ts';

/**
 * Suppresses addresses by an account's own hand, about anything, with an event for each that is new. One that is
 * suppressed already stays as it is.
 *
 * Guarantee: one statement, its own transaction: every new suppression with its event and deliveries, or nothing. Of any
 * number of concurrent additions of one address exactly one makes it, and its event; the others wait for it. Rows are locked
 * in the order of `lockOrder`, then the webhooks.
 *
 * The no-op update on conflict makes a row come back that another transaction has committed meanwhile. A row is new where
 * it has the id that was given.
 *
 * $1 to $6 as `eventCtes` has them, the events in the order of the addresses; $7 addresses, each once, $8 ids to give,
 * $9 created at. Returns one row: of each address, in any order, the id; and the webhooks that got deliveries.
 */
export const addSuppressions: Statement = {
  name: 'add-suppressions',
  text: `
    with wished as materialized (
      select w.event_id, w.data, w.address, w.id
      from unnest($1::text[], $5::text[], $7::text[], $8::text[]) as w (event_id, data, address, id)
    ),
    added as (
      insert into suppressions as s (id, account_id, address, origin, created_at)
      select w.id, $2::text, w.address, 'manual'::suppression_origin, $9::timestamptz
      from wished w
      order by ${lockOrder('w.address')}
      on conflict (account_id, address, topic_id) do update set address = s.address
      returning s.id, s.address
    ),
    fresh as materialized (
      select w.event_id as id, $2::text as account_id, w.data
      from added a join wished w using (id)
    ),
    ${eventCtes('fresh')}
    select json_agg(a.address) as addresses, json_agg(a.id) as ids,
           array_to_json(array(select m.id from matching m)) as webhooks
    from added a`,
};
