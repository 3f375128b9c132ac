import type { Statement } from '../../db/statement.ts';

/**
 * Locks an inbox, or a rule where there is no inbox: messages for it are stored one at a time.
 *
 * Guarantee: a later statement of the same transaction sees what the former holder of the lock stored.
 *
 * $1 inbox or null, $2 rule or null. No row when it is gone.
 */
export const lockInbox: Statement = {
  name: 'lock-inbox',
  text: `
    with inbox as (select i.id from inboxes i where i.id = $1::text for no key update),
    rule as (select r.id from inbound_routes r where $1::text is null and r.id = $2::text for no key update)
    select id from inbox union all select id from rule`,
};
