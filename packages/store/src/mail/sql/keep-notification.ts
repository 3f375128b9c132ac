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
