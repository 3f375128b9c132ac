import type { Statement } from '../../db/statement.ts';

/**
 * Withdraws, after a change of a domain, what it and those below it owe to a domain above them.
 *
 * Guarantee: behind `lock-account`, in the same transaction, and after the change: of the name and all names below it none is
 * verified that has not keys of its own, or a verified domain with keys of its own above it in the account. Keys that were
 * found, and cannot be looked up for a while, still count.
 *
 * Those below it stood as verified: each of them counts as verified once.
 *
 * $1 account, $2 name, $3 now.
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
    set status = 'pending',
        first_verified_at = coalesce(d.first_verified_at, case when d.name <> $2 then $3::timestamptz end)
    from verified v
    where d.id = v.id and not v.has_own_keys
      and (v.name = $2 or right(v.name, length($2) + 1) = '.' || $2)
      and not exists (select from verified above
                      where above.has_own_keys and right(v.name, length(above.name) + 1) = '.' || above.name)`,
};

/**
 * Keeps when a domain was first verified. It is marked for good: such a domain is never taken away.
 *
 * $1 account, $2 name, $3 now. Run behind `settle-domains`, in the same transaction.
 */
export const markVerified: Statement = {
  name: 'mark-verified',
  text: `
    update domains set first_verified_at = $3::timestamptz
    where account_id = $1 and name = $2 and status = 'verified' and first_verified_at is null`,
};
