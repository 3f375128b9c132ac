import { eventCtes, WOKEN_WEBHOOKS } from '../../db/sql/event-ctes.ts';
import { statement } from '../../db/statement.ts';
import { lockOrder } from './suppressions.ts';

/**
 * Finds the message that a notification is about, and locks it until the transaction ends.
 *
 * Guarantee: our id in the provider's tag decides. The provider's id counts only when that names no
 * message. Our id in the header of the mail counts only when neither of the two names a message.
 * Notifications about one message are recorded one after another, so each transaction sees the last event
 * that the transaction before it wrote.
 *
 * $1 our id in the tag or null, $2 the provider's id or null, $3 our id in the header or null. Returns one
 * row, or none.
 */
export const lockNotifiedEmail = statement('lock-notified-email')`
    select id, account_id as "accountId", from_address as "from", subject,
           to_addresses || cc_addresses || bcc_addresses as recipients
    from emails
    where id = coalesce(
      (select id from emails where id = $1),
      (select id from emails where provider_message_id = $2 order by id limit 1),
      (select id from emails where id = $3)
    )
    for no key update`;

type Parameter = `$${number}`;

/**
 * The insert that suppresses, for all mail, the addresses that a notification blames.
 *
 * Guarantee: one row for each address, locked in the order of `lockOrder`. An existing suppression keeps
 * its id and time. A complaint replaces the origin and the message in the row: a customer needs a reason
 * to remove such a suppression, so the row must show the complaint.
 *
 * @param email a FROM item with `account_id` and `email_id`; without a row, nothing is suppressed.
 * @param parameters suppression ids, addresses (each once), origins.
 */
function insertReported(
  email: string,
  [ids, addresses, origins]: readonly [Parameter, Parameter, Parameter],
): string {
  return `
      insert into suppressions (id, account_id, address, origin, email_id, created_at)
      select r.id, e.account_id, r.address, r.origin, e.email_id, now()
      from ${email} e,
           unnest(${ids}::text[], ${addresses}::text[], ${origins}::suppression_origin[]) as r (id, address, origin)
      order by ${lockOrder('r.address')}
      on conflict (account_id, address, topic_id) do update
        set origin = excluded.origin, email_id = excluded.email_id
        where excluded.origin = 'complaint' and suppressions.origin <> 'complaint'`;
}

/**
 * Suppresses the addresses that notifications blame. Guarantee: see `insertReported`.
 *
 * $1 suppression ids, $2 addresses, each once, $3 origins, $4 account, $5 email.
 */
export const suppressReported = statement('suppress-reported')`
    ${insertReported('(select $4::text as account_id, $5::text as email_id)', ['$1', '$2', '$3'])}`;

/**
 * Records a report about the message with this id: the id of the notification, the last event of the message,
 * the suppressed addresses, and the event.
 *
 * Guarantee: it writes all of this or nothing. Locks are taken in the order message, notification,
 * suppressions, webhooks. A notification that was recorded before changes nothing. About mail of a test key,
 * only the id of the notification is written.
 *
 * A locked message is skipped: after waiting for the lock, the statement's snapshot of the webhooks would be
 * too old. The caller then runs this statement after `lock-notified-email`, in one transaction.
 *
 * $1 to $6 as in `eventCtes`, with one event and no account; $7 our id, $8 id of the notification, $9 new
 * last event, $10 last events that are not replaced, $11 error of a message that was never sent, or null; $12
 * suppression ids, $13 addresses, each once, $14 origins. Returns no row when no message has the id, or the
 * message is locked.
 */
export const takeReport = statement('take-report')`
    with email as materialized (
      select id, account_id, kind, last_event from emails where id = $7::text for no key update skip locked
    ),
    first_report as (
      insert into provider_notifications (message_id)
      select $8::text from email
      on conflict (message_id) do nothing
      returning message_id
    ),
    live as materialized (
      select e.id as email_id, e.account_id, e.last_event from email e, first_report where e.kind = 'live'
    ),
    moved as (
      -- Without a live row the last condition is null: nothing is updated.
      update emails
      set last_event = case when last_event = any ($10::text[]) then last_event else $9::text end,
          status = case when $11::text is null then status else 'failed' end,
          error = coalesce($11::text, error)
      where id = $7 and (select $11::text is not null or l.last_event <> all ($10::text[]) from live l)
    ),
    suppressed as (${insertReported('live', ['$12', '$13', '$14'])}
      returning id
    ),
    fresh as materialized (
      select t.id, coalesce($2::text, l.account_id) as account_id, t.data, t.recipients
      from live l, unnest($1::text[], $4::text[], $6::json[]) as t (id, data, recipients)
      where (select count(*) from suppressed) >= 0 -- locks all suppressions before the webhooks
    ),
    ${eventCtes('fresh')}
    select e.kind, exists (select from first_report) as taken, array(${WOKEN_WEBHOOKS}) as webhooks
    from email e`;

/**
 * Stores a notification about an unknown message.
 *
 * Guarantee: run it after `lock-provider-message`, in the same transaction. Then the transaction that stores
 * the provider's id finds the notification.
 *
 * $1 id of the notification, $2 the provider's id of the message, $3 the report.
 */
export const keepNotification = statement('keep-notification')`
    insert into unclaimed_notifications (message_id, provider_message_id, report) values ($1, $2, $3)
    on conflict (message_id) do nothing`;

/**
 * Deletes and returns the notifications that were stored for a message.
 *
 * Guarantee: run it after `await-email`, in the same transaction. Then it misses none: a later notification
 * sees the rows that this transaction commits.
 *
 * $1 the provider's id of the message. Returns the id and the report of each notification, in any order.
 */
export const claimNotifications = statement('claim-notifications')`
    delete from unclaimed_notifications
    where provider_message_id = $1
    returning message_id as "messageId", report`;

/**
 * Marks a notification as recorded.
 *
 * Guarantee: however often a notification arrives, exactly one committed transaction gets a row. Other
 * transactions wait for this one. Run the statement in the transaction that makes the notification's changes.
 * After a rollback, the notification can be recorded again.
 *
 * $1 id of the notification. Returns the id, or no row when the notification was recorded before.
 */
export const takeNotification = statement('take-notification')`
    insert into provider_notifications (message_id) values ($1)
    on conflict (message_id) do nothing
    returning message_id`;
