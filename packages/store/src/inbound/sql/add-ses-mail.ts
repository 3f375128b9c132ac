import type { Statement } from '../../db/statement.ts';

/**
 * Keeps a message of SES until it is taken in.
 *
 * Guarantee: of many that bring the same notification, exactly one that commits makes a row, also when the row has ended since.
 *
 * $1 SNS's id of the notification, $2 SES's id of the message, $3 envelope's sender, $4 recipients, $5 verdicts (JSON),
 * $6 content, $7 bucket, $8 key: content, or bucket and key. Returns the notification's id if nobody had taken it before.
 */
export const addSesMail: Statement = {
  name: 'add-ses-mail',
  text: `
    with taken as (
      insert into provider_notifications (message_id) values ($1)
      on conflict (message_id) do nothing
      returning message_id
    )
    insert into ses_mail (notification_id, provider_message_id, source, recipients, verdicts, content, bucket, key)
    select t.message_id, $2, $3, $4::text[], $5::json, $6::bytea, $7, $8 from taken t
    returning notification_id`,
};
