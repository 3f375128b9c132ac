import { eventCtes } from '../../db/sql/event-ctes.ts';
import type { Statement } from '../../db/statement.ts';

/** Of whoever has to do with a message of the provider's. @param id an expression: the provider's id; null locks nothing */
function providerMessageLock(id: string): string {
  return `select 1 from pg_advisory_xact_lock(hashtextextended('provider-message/' || ${id}::text, 0))`;
}

/**
 * Waits for the hand-over that gives a message this id, if one is about to commit.
 *
 * Guarantee: of that hand-over and a report that names the id, the later one sees, in its next statement, what the earlier
 * one has committed.
 *
 * $1 the provider's id of the message.
 */
export const lockProviderMessage: Statement = {
  name: 'lock-provider-message',
  text: providerMessageLock('$1'),
};

/**
 * Holds messages whose hand-overs end, until the transaction ends.
 *
 * Guarantee: a report of the provider, which may overtake the provider's own answer, is seen in the next
 * statement or comes after the end; also one that names the message by the provider's id alone.
 *
 * $1 email ids, each once, $2 claims held, $3 the provider's ids of the messages, which nobody knows yet, or
 * null. Returns the ids of those held.
 */
function holding(onLocked: 'skip locked' | ''): string {
  return `
    with held as materialized (
      select s.email_id, u.provider_message_id
      from unnest($1::text[], $2::int[], $3::text[]) u (email_id, claim, provider_message_id)
      join email_sends s on s.email_id = u.email_id and s.claim = u.claim
      join emails e on e.id = u.email_id
      where s.email_id = any ($1::text[]) and e.id = any ($1::text[])
      order by s.email_id
      for update of s ${onLocked}
      for no key update of e ${onLocked}
    )
    select h.email_id, (${providerMessageLock('h.provider_message_id')}) as locked
    from held h`;
}

/** A message that another has locked is passed over: its neighbours do not wait for it. */
export const lockEmails: Statement = { name: 'lock-emails', text: holding('skip locked') };

/** For one message: it is waited for. */
export const awaitEmail: Statement = { name: 'await-email', text: holding('') };

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

/**
 * Puts messages back whose hand-over was deferred, due again after the delay.
 *
 * Guarantee: fenced by the claim, locked in the order of ids.
 *
 * $1 email ids, $2 claims held, $3 delays in ms. Returns the ids and claims of those put back.
 */
export const retryEmails: Statement = {
  name: 'retry-emails',
  text: `
    with u as materialized (
      select * from unnest($1::text[], $2::int[], $3::float8[]) u (email_id, claim, delay)
    ),
    mine as materialized (
      select s.email_id, u.claim, u.delay
      from u
      join email_sends s on s.email_id = u.email_id and s.claim = u.claim
      where s.email_id = any ($1::text[])
      order by s.email_id
      for update of s
    )
    update email_sends s
    set attempts = s.attempts + 1, unrecorded = greatest(0, s.unrecorded - 1), claim = s.claim + 1, leased_until = null,
        taken_at = null,
        due_at = now() + make_interval(secs => (select m.delay / 1000 from mine m where m.email_id = s.email_id))
    where s.email_id = any (array(select email_id from mine))
    returning s.email_id, s.claim - 1 as claim`,
};

/**
 * Takes back that a hand-over was counted: it ended unrecorded, and the message was not the cause. A take that never
 * committed counted nothing, and left the claim as it was. Not fenced otherwise: another worker may have taken the message.
 *
 * $1 email id, $2 claim of the job.
 */
export const forgiveFault: Statement = {
  name: 'forgive-fault',
  text: `
    update email_sends
    set unrecorded = greatest(0, unrecorded - 1)
    where email_id = $1 and claim > $2`,
};
