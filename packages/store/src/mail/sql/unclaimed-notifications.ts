import type { Statement } from '../../db/statement.ts';

/**
 * Keeps a notification that names no message which is known.
 *
 * Guarantee: run behind `lock-provider-message`, it is there for the hand-over that makes the message known.
 *
 * $1 message id, $2 the provider's id of the message, $3 the report.
 */
export const keepNotification: Statement = {
  name: 'keep-notification',
  text: `
    insert into unclaimed_notifications (message_id, provider_message_id, report) values ($1, $2, $3)
    on conflict (message_id) do nothing`,
};

/**
 * Takes out the notifications that were kept for a message of the provider's.
 *
 * Guarantee: run behind `await-email`, it misses none: what comes from now on sees what this transaction
 * commits.
 *
 * $1 the provider's id of the message. Returns message id and report of each, in no order.
 */
export const claimNotifications: Statement = {
  name: 'claim-notifications',
  text: `
    delete from unclaimed_notifications
    where provider_message_id = $1
    returning message_id, report`,
};

/**
 * Takes in a notification of the provider, by the provider's id of it.
 *
 * Guarantee: of many that bring the same one, exactly one that commits gets a row; the others wait for it. Run in the
 * transaction of all that the notification changes: what was rolled back can be taken again.
 *
 * $1 message id. Returns it if nobody had taken it before.
 */
export const takeNotification: Statement = {
  name: 'take-notification',
  text: `
    insert into provider_notifications (message_id) values ($1)
    on conflict (message_id) do nothing
    returning message_id`,
};
