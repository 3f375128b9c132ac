import { statement } from '../../db/statement.ts';
import { isFreeForAccount, reserveAddress } from './inboxes.ts';

/**
 * Adds a rule, unless its match (an address, or `*@` and a domain) is taken. The match is taken when the
 * account has a rule with it. On a shared domain, it is also taken when another account has an inbox or a
 * rule with it, or deleted one in the last 30 days. On an account's own domain, entries of other accounts do
 * not count: they belong to former owners.
 *
 * Guarantee: an address belongs to one account. Run it under the account's lock and, on a shared domain,
 * under the address's lock.
 *
 * $1 id, $2 account, $3 match, $4 name or null, $5 webhook, $6 true for a shared domain. Returns when it
 * was created, or no row when the match is taken.
 */
export const addRoutingRule = statement('add-routing-rule')`
    insert into inbound_routes (id, account_id, match, name, webhook_id, created_at)
    select $1, $2, $3, $4, $5, now()
    where not $6::bool
       or ${isFreeForAccount({ address: '$3', account: '$2' })}
    on conflict (match, account_id) do nothing
    returning created_at as "createdAt"`;

/**
 * Deletes a rule and marks its webhook as removed. The webhook gets nothing from then on. The messages that
 * the rule received stay.
 *
 * $1 account, $2 id, $3 shared domains. Returns the webhook and its endpoint, or no row when the
 * rule is missing.
 */
export const deleteRoutingRule = statement('delete-routing-rule')`
    with gone as (
      delete from inbound_routes where account_id = $1 and id = $2 returning webhook_id, match
    ),${reserveAddress({ from: 'select match from gone', sharedDomains: '$3' })},
    marked as (
      update webhooks w set removed_at = now() where w.id = (select webhook_id from gone)
      returning w.id, w.endpoint
    )
    select id, endpoint from marked`;
