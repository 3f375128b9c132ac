import { statement } from '../../db/statement.ts';

/**
 * Finds a domain that the account has verified. The name must match exactly.
 *
 * $1 account, $2 domain. Returns one row, or none.
 */
export const ownsDomain = statement('owns-domain')`
    select id from domains where account_id = $1 and name = $2 and status = 'verified'`;

/**
 * A condition: mail to the domain is for its account. The domain is verified, or it was verified once and no
 * other account has verified a domain above it.
 *
 * @param domain the alias of a row of `domains`
 */
export function receives(domain: string): string {
  return `(${domain}.status = 'verified' or ${domain}.first_verified_at is not null and (
             select true from domains above
             where above.name = any (array(
                 select array_to_string(labels[n:], '.')
                 from string_to_array(${domain}.name, '.') labels, generate_series(2, cardinality(labels)) n))
               and above.account_id <> ${domain}.account_id and above.status = 'verified'
             limit 1) is null)`;
}

/**
 * Counts the account's domains, and those that are not verified. A name that the account adds now, in a turn
 * that has not ended, is in both counts.
 *
 * Guarantee: after `lock-account` in the same transaction, no domain is missing and none counts twice.
 *
 * $1 account, $2 the name to add, which does not count itself. Returns one row.
 */
export const countDomains = statement('count-domains')`
    with adding as (
      select count(*) as n from domain_turns t
      where t.account_id = $1 and t.ends_at > now() and t.name <> $2
        and (select true from domains d where d.name = t.name limit 1) is null
    )
    select (count(*) + (select n from adding))::int as all,
           (count(*) filter (where status <> 'verified') + (select n from adding))::int as unverified
    from domains
    where account_id = $1 and name <> $2`;

/**
 * Stores a domain that the provider has accepted.
 *
 * Guarantee: a name belongs to one account. When requests add one name at the same time, exactly one gets a
 * row.
 *
 * $1 id, $2 account, $3 name, $4 region, $5 status, $6 records (JSON), $7 created at.
 */
export const addDomain = statement('add-domain')`
    insert into domains (id, account_id, name, region, status, records, created_at)
    values ($1, $2, $3, $4, $5::domain_status, $6::json, $7::timestamptz)
    on conflict (name) do nothing
    returning id`;

/**
 * Stores a domain's state at the provider.
 *
 * Guarantee: a domain with the old status `verified` gets a time of first verification. A process of the
 * previous release verifies domains without that time.
 *
 * $1 account, $2 id, $3 status, $4 records (JSON), $5 now. Returns the name, or no row when the domain is
 * missing.
 */
export const updateDomain = statement('update-domain')`
    update domains
    set status = $3::domain_status, records = $4::json,
        first_verified_at = coalesce(first_verified_at, case when status = 'verified' then $5::timestamptz end)
    where account_id = $1 and id = $2
    returning name`;

/**
 * After a change of a domain, sets the domain and its subdomains back to `pending` if no domain verifies them
 * any more.
 *
 * Guarantee: run it after the change and after `lock-account`, in the same transaction. Then each of these
 * names is verified only with DKIM keys of its own, or through a verified parent domain in the account that
 * has its own keys. Keys that the provider found and temporarily cannot look up still count.
 *
 * The subdomains were verified, so each gets a time of first verification.
 *
 * $1 account, $2 name, $3 now.
 */
export const settleDomains = statement('settle-domains')`
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
    where d.id = any (array(
      select v.id from verified v
      where not v.has_own_keys and (v.name = $2 or right(v.name, length($2) + 1) = '.' || $2)
        and not exists (select from verified above
                        where above.has_own_keys and right(v.name, length(above.name) + 1) = '.' || above.name)))`;

/**
 * Stores when a domain was first verified. The mark is permanent: such a domain never expires.
 *
 * The condition on `first_verified_at` means null. It has a form that no index has, so Postgres finds the row
 * by its name.
 *
 * $1 account, $2 name, $3 now. Run it after `settle-domains`, in the same transaction.
 */
export const markVerified = statement('mark-verified')`
    update domains set first_verified_at = $3::timestamptz
    where account_id = $1 and name = $2 and status = 'verified'
      and coalesce(first_verified_at, 'infinity') = 'infinity'`;

/**
 * Removes a domain from its account and lists its name as released: the provider may still have it.
 *
 * Guarantee: the name is free and listed, or neither.
 *
 * $1 account, $2 name. Returns the id, or no row when the account has no such domain.
 */
export const releaseDomain = statement('release-domain')`
    with gone as (
      delete from domains where account_id = $1 and name = $2 returning id, name
    ),
    noted as (
      insert into released_domains (name) select name from gone on conflict (name) do nothing
    )
    select id from gone`;

/**
 * Finds a random name that an operator released and the provider may still have. Returns the name, or no row.
 */
export const releasedDomain = statement('released-domain')`
    select name from released_domains order by random() limit 1`;

/**
 * Starts the claims of domains that an older version stored without a start time. A domain that is not
 * pending may have been verified, so it gets a time of first verification.
 *
 * Guarantee: a row changes once, in however many processes this runs. Locked rows are skipped.
 *
 * $1 maximum number of rows.
 */
export const beginDomainClaims = statement('begin-domain-claims')`
    update domains
    set claimed_at = now(), first_verified_at = case when status <> 'pending' then now() end
    where id = any (array(
      select id from domains
      where claimed_at is null and first_verified_at is null
      limit $1
      for update skip locked))`;

/**
 * Finds a random domain that was never verified within the days that an account has for it. The choice is
 * random so that a domain without an answer from the provider does not block the rest. A domain with status
 * `verified` is not found: a process of the previous release verifies domains without the time of first
 * verification.
 *
 * $1 the days. Returns account, id and name, or no row.
 */
export const expiredDomainClaim = statement('expired-domain-claim')`
    select account_id as "accountId", id, name
    from domains
    where first_verified_at is null and status <> 'verified' and claimed_at < now() - make_interval(days => $1)
    order by random()
    limit 1`;
