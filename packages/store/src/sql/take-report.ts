import type { Statement } from '../statement.ts';
import { eventCtes } from './event-ctes.ts';

/**
 * Takes in a report about a message that is known by our id, where the report suppresses nobody: the notification's id, what is
 * last known of the message, and the event.
 *
 * Guarantee: one statement, its own transaction: all of it or nothing. Locks come in the order message, notification,
 * webhooks. A message that another has locked is passed over: whoever waits for it has to see anew which webhooks there are. A
 * notification that was taken before changes nothing.
 *
 * $1 to $6 as `eventCtes` has them, one event and no account; $7 our id, $8 id of the notification, $9 last event, $10 the last
 * events that stay. Returns no row when no message has the id, or another has locked it.
 */
export const takeReport: Statement = {
  name: 'take-report',
  text: `
    with email as materialized (
      select id, account_id, kind, last_event from emails where id = $7::text for no key update skip locked
    ),
    taken as (
      insert into provider_notifications (message_id)
      select $8::text from email
      on conflict (message_id) do nothing
      returning message_id
    ),
    live as materialized (
      select e.account_id, e.last_event from email e, taken where e.kind = 'live'
    ),
    moved as (
      update emails set last_event = $9::text
      where id = $7 and (select l.last_event <> all ($10::text[]) from live l)
    ),
    fresh as materialized (
      select t.id, coalesce($2::text, l.account_id) as account_id, t.data from live l, unnest($1::text[], $5::text[]) as t (id, data)
    ),
    ${eventCtes('fresh')}
    select e.kind, exists (select from taken) as taken, array(select m.id from matching m) as webhooks
    from email e`,
};
