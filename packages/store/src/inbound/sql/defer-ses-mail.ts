import type { Statement } from '../../db/statement.ts';

/**
 * Puts a message of SES back, due again after the delay. Fenced by the claim.
 *
 * $1 SNS's id of the notification, $2 claim held, $3 delay in ms.
 */
export const deferSesMail: Statement = {
  name: 'defer-ses-mail',
  text: `
    update ses_mail
    set due_at = now() + make_interval(secs => $3::float8 / 1000)
    where notification_id = $1 and claim = $2`,
};
