import type { Statement } from '../../db/statement.ts';

/**
 * Leases messages of SES that are due, the longest due first.
 *
 * Guarantee: two claims never hold the same row at a time. A row whose lease ran out is due again, and its next claim ends the
 * former one.
 *
 * $1 rows at the most, $2 lease in seconds. Returns the messages, each with its claim.
 */
export const claimSesMail: Statement = {
  name: 'claim-ses-mail',
  text: `
    with mine as materialized (
      select m.notification_id
      from ses_mail m
      where m.due_at <= now()
      order by m.due_at, m.notification_id
      limit $1
      for update of m skip locked
    )
    update ses_mail m
    set claim = m.claim + 1, due_at = now() + make_interval(secs => $2)
    where m.notification_id = any (array(select notification_id from mine))
    returning m.notification_id as "notificationId", m.claim, m.provider_message_id as "providerMessageId", m.source,
              m.recipients, m.verdicts, m.content, m.bucket, m.key`,
};
