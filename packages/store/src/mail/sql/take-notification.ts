import type { Statement } from '../../db/statement.ts';

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
