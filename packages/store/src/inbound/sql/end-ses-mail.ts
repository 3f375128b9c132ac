import type { Statement } from '../../db/statement.ts';

/**
 * Ends a message of SES, if its claim is still the one held. Run in the transaction that stores the message, it is taken in
 * exactly when its row is gone.
 *
 * $1 SNS's id of the notification, $2 claim held. Returns when it was kept, or no row when the claim is no longer held.
 */
export const endSesMail: Statement = {
  name: 'end-ses-mail',
  text: `
    delete from ses_mail
    where notification_id = $1 and claim = $2
    returning created_at as "keptAt"`,
};
