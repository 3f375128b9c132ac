import { statement } from '../../db/statement.ts';

/**
 * Stores a message from SES until an inbound process has received it.
 *
 * Guarantee: however often a notification arrives, exactly one committed transaction adds a row for it. This
 * holds also after the row was deleted.
 *
 * $1 SNS's id of the notification, $2 SES's id of the message, $3 sender of the envelope, $4 recipients, $5
 * verdicts (JSON), $6 content, or $7 bucket and $8 key. Returns the notification's id, or no row when it was
 * stored before.
 */
export const addSesMail = statement('add-ses-mail')`
    with taken as (
      insert into provider_notifications (message_id) values ($1)
      on conflict (message_id) do nothing
      returning message_id
    )
    insert into ses_mail (notification_id, provider_message_id, source, recipients, verdicts, content, bucket, key)
    select t.message_id, $2, $3, $4::text[], $5::json, $6::bytea, $7, $8 from taken t
    returning notification_id`;

/**
 * Leases messages from SES that are due, the longest due first.
 *
 * Guarantee: two claims never hold one row at the same time. When the lease expires, the row is due again.
 * The next claim makes the old fencing token invalid.
 *
 * $1 maximum number of rows, $2 lease in seconds. Returns the messages, each with its claim.
 */
export const claimSesMail = statement('claim-ses-mail')`
    with mine as materialized (
      select m.notification_id
      from ses_mail m
      where m.due_at <= now()
      order by m.due_at
      limit $1
      for update of m skip locked
    )
    update ses_mail m
    set claim = m.claim + 1, due_at = now() + make_interval(secs => $2)
    where m.notification_id = any (array(select notification_id from mine))
    returning m.notification_id as "notificationId", m.claim, m.provider_message_id as "providerMessageId", m.source,
              m.recipients, m.verdicts, m.content, m.bucket, m.key`;

/**
 * Makes a message from SES due again after the delay, if its claim is still held.
 *
 * $1 SNS's id of the notification, $2 claim held, $3 delay in ms.
 */
export const deferSesMail = statement('defer-ses-mail')`
    update ses_mail
    set due_at = now() + make_interval(secs => $3::float8 / 1000)
    where notification_id = $1 and claim = $2`;

/**
 * Ends a message from SES, if its claim is still held.
 *
 * Guarantee: run it in the transaction that stores the message. Then the message is stored exactly when the
 * row is deleted.
 *
 * $1 SNS's id of the notification, $2 claim held. Returns when the notification was stored, or no row when
 * the claim is no longer held.
 */
export const endSesMail = statement('end-ses-mail')`
    delete from ses_mail
    where notification_id = $1 and claim = $2
    returning created_at as "storedAt"`;

export const countSesMail = statement('count-ses-mail')`select count(*)::int as "count" from ses_mail`;
