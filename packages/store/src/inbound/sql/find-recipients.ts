import type { Statement } from '../../db/statement.ts';

/**
 * Who receives mail for an address: its inbox, and the one rule that takes it, the exact one before that of the domain. On a
 * domain that is not shared only the account counts that has verified it at this moment.
 *
 * $1 addresses as inboundAddress writes them, $2 shared domains.
 * Returns a row for each address that leads somewhere: address, account, kind of the inbox (live without one), inbox or
 * null, rule or null.
 */
export const findRecipients: Statement = {
  name: 'find-recipients',
  text: `
    with asked as materialized (
      select a.address, split_part(a.address, '@', 2) as domain,
             split_part(a.address, '@', 2) = any ($2::text[]) as shared,
             (select d.account_id from domains d
              where d.name = split_part(a.address, '@', 2) and d.status = 'verified') as owner
      from unnest($1::text[]) a (address)
    )
    select a.address, coalesce(i.account_id, r.account_id) as "accountId", coalesce(i.kind, 'live')::text as kind,
           i.id as "inboxId", r.id as "ruleId"
    from asked a
    left join inboxes i on i.address = a.address and (a.shared or i.account_id = a.owner)
    left join lateral (
      select r.id, r.account_id
      from inbound_routes r
      where r.match = a.address and (a.shared or r.account_id = a.owner)
         or r.match = '*@' || a.domain and not a.shared and r.account_id = a.owner
      order by r.match = a.address desc
      limit 1
    ) r on true
    where i.id is not null or r.id is not null`,
};
