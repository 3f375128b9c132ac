import type { Statement } from '../../db/statement.ts';

/**
 * Deletes a rule and marks its webhook as removed: from then on it receives nothing. Messages that the rule
 * took stay.
 *
 * $1 account, $2 id, $3 removed at. Returns the webhook; no row when there is no such rule.
 */
export const deleteRoutingRule: Statement = {
  name: 'delete-routing-rule',
  text: `
    with gone as (
      delete from inbound_routes where account_id = $1 and id = $2 returning webhook_id
    ),
    marked as (
      update webhooks w set removed_at = $3::timestamptz from gone where w.id = gone.webhook_id
    )
    select webhook_id as "webhookId" from gone`,
};
