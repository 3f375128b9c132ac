import type { Statement } from '../../db/statement.ts';

/**
 * Whether an account has verified a domain, by that exact name.
 *
 * $1 account, $2 domain. Returns a row when it has.
 */
export const ownsDomain: Statement = {
  name: 'owns-domain',
  text: `select id from domains where account_id = $1 and name = $2 and status = 'verified'`,
};

/**
 * Counts the account's domains, and those of them that are not verified. Those that are being added for it in a turn that
 * lasts count as both.
 *
 * Guarantee: behind `lock-account`, in the same transaction, nothing is missing and nothing counts twice.
 *
 * $1 account, $2 the name that it is counted for, which does not count itself. Returns one row.
 */
export const countDomains: Statement = {
  name: 'count-domains',
  text: `
    with adding as (
      select count(*) as n from domain_turns t
      where t.account_id = $1 and t.ends_at > now() and t.name <> $2
        and not exists (select from domains d where d.name = t.name)
    )
    select (count(*) + (select n from adding))::int as all,
           (count(*) filter (where status <> 'verified') + (select n from adding))::int as unverified
    from domains
    where account_id = $1 and name <> $2`,
};

/**
 * Stores a domain that the provider has accepted.
 *
 * Guarantee: a name belongs to one account. Of any number of concurrent additions exactly one returns a row.
 *
 * $1 id, $2 account, $3 name, $4 region, $5 status, $6 records (JSON), $7 created at.
 */
export const addDomain: Statement = {
  name: 'add-domain',
  text: `
    insert into domains (id, account_id, name, region, status, records, created_at)
    values ($1, $2, $3, $4, $5::domain_status, $6::json, $7::timestamptz)
    on conflict (name) do nothing
    returning id`,
};

/**
 * Keeps what the provider says of a domain.
 *
 * Guarantee: one that stood as verified counts as verified once, also where a process of the last release verified it.
 *
 * $1 account, $2 id, $3 status, $4 records (JSON), $5 now. Returns its name, or no row when there is none.
 */
export const updateDomain: Statement = {
  name: 'update-domain',
  text: `
    update domains
    set status = $3::domain_status, records = $4::json,
        first_verified_at = coalesce(first_verified_at, case when status = 'verified' then $5::timestamptz end)
    where account_id = $1 and id = $2
    returning name`,
};

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

/**
 * Takes a domain from its account, and notes its name: the provider may still have it.
 *
 * Guarantee: the name is free and noted, or neither.
 *
 * $1 account, $2 name. Returns its id, or no row where the account has no such domain.
 */
export const releaseDomain: Statement = {
  name: 'release-domain',
  text: `
    with gone as (
      delete from domains where account_id = $1 and name = $2 returning id, name
    ),
    noted as (
      insert into released_domains (name) select name from gone on conflict (name) do nothing
    )
    select id from gone`,
};

/** One of the names that operators have released and the provider may still have, at random. Returns it, or no row. */
export const releasedDomain: Statement = {
  name: 'released-domain',
  text: `select name from released_domains order by random() limit 1`,
};
