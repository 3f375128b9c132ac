import { eventCtes, WOKEN_WEBHOOKS } from '../../db/sql/event-ctes.ts';
import { statement } from '../../db/statement.ts';

/**
 * Locks the provider's id of a message until the transaction ends. @param id an SQL expression: the
 * provider's id; null locks nothing.
 */
function providerMessageLock(id: string): string {
  return `select 1 from pg_advisory_xact_lock(hashtextextended('provider-message/' || ${id}::text, 0))`;
}

/**
 * Waits for a transaction that stores this id for a message now.
 *
 * Guarantee: that transaction and one that records a report with the id run one after another. The later one
 * sees, in its next statement, the rows that the earlier one committed.
 *
 * $1 the provider's id of the message.
 */
export const lockProviderMessage = statement('lock-provider-message')`${providerMessageLock('$1')}`;

/**
 * Locks messages that are about to end. The locks last until the transaction ends.
 *
 * Guarantee: a report may arrive before the provider's own answer is stored. The next statement sees such a
 * report, or the report is recorded after the message has ended. This holds also for a report that names only
 * the provider's id.
 *
 * $1 email ids, each once, $2 claims held, $3 the provider's ids of the messages, which are not stored yet,
 * or null. Returns the ids of the messages that are locked and still have the claim.
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
    select h.email_id as "emailId", (${providerMessageLock('h.provider_message_id')}) as locked
    from held h`;
}

/** Skips locked messages, so that the rest of the batch does not wait. */
export const lockEmails = statement('lock-emails')`${holding('skip locked')}`;

/** For one message. It waits for the lock. */
export const awaitEmail = statement('await-email')`${holding('')}`;

/**
 * Ends messages as sent or as failed, with an event for each.
 *
 * Run it after `lock-emails` or `await-email`, in the same transaction.
 *
 * Guarantee: a message with a stored report (a row of `unclaimed_notifications`) is left as it is, because
 * the report's event must be written in the transaction that ends the message. A message that the provider
 * has reported as failed stays failed.
 *
 * $1 to $6 as in `eventCtes`, with one event for each message and no account; for each message $7 id, $8 the
 * provider's id or null, $9 error or null, $10 suppressed addresses (a JSON list); $11 status, $12 new last
 * event, $13 last events that are not replaced, $14 whether the messages were sent. Returns one row: the
 * event id of each message that ended (a JSON object), and the webhooks to wake.
 */
export const endEmails = statement('end-emails')`
    with outcomes as materialized (
      select *
      from unnest($1::text[], $4::text[], $6::json[], $7::text[], $8::text[], $9::text[], $10::json[])
        u (event_id, data, recipients, email_id, provider_message_id, error, suppressed)
    ),
    gone as (
      delete from email_sends s
      where s.email_id = any (array(
        select o.email_id from outcomes o
        where (select true from unclaimed_notifications n where n.provider_message_id = o.provider_message_id limit 1) is null))
      returning s.email_id
    ),
    ended_emails as (
      update emails e
      set status = case when e.status = 'failed' then e.status else $11::email_status end,
          last_event = case when e.last_event = any ($13::text[]) then e.last_event else $12::text end,
          error = coalesce(o.error, e.error),
          sent_at = case when $14::boolean then statement_timestamp() end,
          provider_message_id = o.provider_message_id,
          suppressed_addresses = array(select json_array_elements_text(o.suppressed))
      from outcomes o
      where e.id = o.email_id and e.id = any (array(select email_id from gone))
      returning e.id, e.account_id
    ),
    fresh as materialized (
      select o.event_id as id, o.email_id, coalesce($2::text, e.account_id) as account_id, o.data, o.recipients
      from ended_emails e join outcomes o on o.email_id = e.id
    ),
    ${eventCtes('fresh')}
    select (select coalesce(json_object_agg(f.email_id, f.id), '{}') from fresh f) as ended,
           array(${WOKEN_WEBHOOKS}) as webhooks`;

/**
 * Makes messages due again after their delays, because the provider did not accept them.
 *
 * Guarantee: a message changes only while its claim is held. Rows are locked in the order of ids.
 *
 * $1 email ids, $2 claims held, $3 delays in ms, $4 the attempts that count so far. Returns the ids and held
 * claims of the messages that changed.
 */
export const retryEmails = statement('retry-emails')`
    with deferred as materialized (
      select * from unnest($1::text[], $2::int[], $3::float8[], $4::int[]) u (email_id, claim, delay, attempts)
    ),
    mine as materialized (
      select s.email_id, u.claim, u.delay, u.attempts
      from deferred u
      join email_sends s on s.email_id = u.email_id and s.claim = u.claim
      where s.email_id = any ($1::text[])
      order by s.email_id
      for update of s
    )
    update email_sends s
    set attempts = (select m.attempts from mine m where m.email_id = s.email_id),
        unrecorded = greatest(0, s.unrecorded - 1), claim = s.claim + 1, leased_until = null, taken_at = null,
        due_at = now() + make_interval(secs => (select m.delay / 1000 from mine m where m.email_id = s.email_id))
    where s.email_id = any (array(select email_id from mine))
    returning s.email_id as "emailId", s.claim - 1 as claim`;

/**
 * Subtracts one from the unrecorded send attempts of a message, when the attempt failed for another reason
 * than the message. If the take never committed, the claim is unchanged, and the statement does nothing. A
 * later claim also matches, because another worker may have taken the message meanwhile.
 *
 * $1 email id, $2 claim of the job.
 */
export const forgiveFault = statement('forgive-fault')`
    update email_sends
    set unrecorded = greatest(0, unrecorded - 1)
    where email_id = $1 and claim > $2`;

/**
 * Removes a message from the outbox without ending it: it has ended before, or another attempt follows.
 *
 * Run it after `await-email`, in the same transaction. $1 email id, $2 new last event, or an empty text, $3
 * last events that are not replaced.
 */
export const leaveOutbox = statement('leave-outbox')`
    with gone as (
      delete from email_sends where email_id = $1
    )
    update emails set last_event = $2::text
    where id = $1 and $2::text <> '' and last_event <> all ($3::text[])`;

/**
 * Puts a message into the outbox again, after `end-emails` or `leave-outbox`.
 *
 * $1 email id, $2 delay in ms, $3 claim, which no job has, $4 attempts made, $5 attempts that the provider
 * did not confirm, $6 the recipients that are left, or null for all.
 */
export const queueAgain = statement('queue-again')`
    insert into email_sends (email_id, due_at, claim, attempts, unconfirmed, rest)
    values ($1, now() + make_interval(secs => $2::float8 / 1000), $3, $4, $5, $6::text[])`;
