import type { Statement } from '../../db/statement.ts';

/**
 * Adds an inbox, unless its account has one with the address, or the domain is shared and another account has the
 * address, by inbox or by rule. On a domain of the account's own, others' entries are those of former owners.
 *
 * Guarantee: run under the account's lock and, on a shared domain, the address's. Then the address is one inbox's.
 *
 * $1 id, $2 account, $3 kind, $4 address, $5 name, $6 from name or null, $7 created at, $8 whether the domain is shared.
 * Returns the id; no row when the address is taken.
 */
export const addInbox: Statement = {
  name: 'add-inbox',
  text: `
    insert into inboxes (id, account_id, kind, address, name, from_name, created_at, updated_at)
    select $1, $2, $3::key_kind, $4, $5, $6, $7::timestamptz, $7::timestamptz
    where not $8::bool
       or not exists (select from inboxes i where i.address = $4 and i.account_id <> $2)
      and not exists (select from inbound_routes r where r.match = $4 and r.account_id <> $2)
    on conflict (address, account_id) do nothing
    returning id`,
};
