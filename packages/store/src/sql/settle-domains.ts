import type { Statement } from '../statement.ts';

/**
 * Takes the account's next changes of domains in turn: what one finds verified is so until it commits.
 *
 * $1 account.
 */
export const lockDomains: Statement = {
  name: 'lock-domains',
  text: `select 1 from accounts where id = $1 for no key update`,
};

/**
 * Withdraws, after a change of a domain, what it and those below it owe to a domain above them.
 *
 * Guarantee: behind `lock-domains`, in the same transaction, and after the change: of the name and all names below it none is
 * verified that has not keys of its own, or a verified domain with keys of its own above it in the account. Keys that were
 * found, and cannot be looked up for a while, still count.
 *
 * $1 account, $2 name.
 */
export const settleDomains: Statement = {
  name: 'settle-domains',
  text: `
    with verified as materialized (
      select d.id, d.name,
             coalesce((select bool_and(r ->> 'status' in ('verified', 'temporary_failure'))
                       from json_array_elements(d.records) r where r ->> 'record' = 'DKIM'), false) as has_own_keys
      from domains d
      where d.account_id = $1 and d.status = 'verified'
    )
    update domains d
    set status = 'pending'
    from verified v
    where d.id = v.id and not v.has_own_keys
      and (v.name = $2 or right(v.name, length($2) + 1) = '.' || $2)
      and not exists (select from verified above
                      where above.has_own_keys and right(v.name, length(above.name) + 1) = '.' || above.name)`,
};
