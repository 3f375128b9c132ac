import { eventCtes } from '../../db/sql/event-ctes.ts';
import type { Statement } from '../../db/statement.ts';

/**
 * Ends messages that `lock-emails` or `await-email` holds, as sent or as failed, with an event each.
 *
 * Guarantee: run in the same transaction, behind it. A message that a kept report of the provider waits for
 * is left as it is: the report's event goes with it. One that the provider has already reported as failed
 * stays so.
 *
 * $1 to $6 as `eventCtes` has them, one event for each message and no account; $7 email ids, $8 the provider's ids of the
 * messages or null, $9 errors or null, $10 addresses left out (a list of JSON), for each; $11 status, $12 last event, $13 the
 * last events that stay, $14 when they were sent or null. Returns one row: the ids of those ended, and the webhooks that got
 * deliveries.
 */
export const endEmails: Statement = {
  name: 'end-emails',
  text: `
    with u as materialized (
      select *
      from unnest($1::text[], $5::text[], $7::text[], $8::text[], $9::text[], $10::json[])
        u (event_id, data, email_id, provider_message_id, error, suppressed)
    ),
    gone as (
      delete from email_sends s
      where s.email_id = any (array(
        select u.email_id from u
        where (select true from unclaimed_notifications n where n.provider_message_id = u.provider_message_id limit 1) is null))
      returning s.email_id
    ),
    ended as (
      update emails e
      set status = case when e.status = 'failed' then e.status else $11::email_status end,
          last_event = case when e.last_event = any ($13::text[]) then e.last_event else $12::text end,
          error = coalesce(u.error, e.error),
          sent_at = $14::timestamptz,
          provider_message_id = u.provider_message_id,
          suppressed_addresses = array(select json_array_elements_text(u.suppressed))
      from u
      where e.id = u.email_id and e.id = any (array(select email_id from gone))
      returning e.id, e.account_id
    ),
    fresh as materialized (
      select u.event_id as id, coalesce($2::text, e.account_id) as account_id, u.data
      from ended e join u on u.email_id = e.id
    ),
    ${eventCtes('fresh')}
    select array(select id from ended) as ended, array(select m.id from matching m) as webhooks`,
};
