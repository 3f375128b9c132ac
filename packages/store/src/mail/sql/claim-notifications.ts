import type { Statement } from '../../db/statement.ts';

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
