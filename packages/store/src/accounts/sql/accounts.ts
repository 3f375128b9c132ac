import { statement } from '../../db/statement.ts';

/**
 * Finds accounts by their id, a domain that was verified once, the address of an inbox, or their name. It
 * reads the names of all accounts.
 *
 * $1 id, $2 domain or null, $3 address of an inbox or null, $4 regular expression of the name, $5 maximum
 * number of accounts. Matches by id, domain or inbox come first, then by the whole name, then the newest.
 */
export const findAccounts = statement('find-accounts')`
    with owners as (
      select $1::text as owner_id
      union select d.account_id from domains d
            where d.name = $2::text and (d.status = 'verified' or d.first_verified_at is not null)
      union select i.account_id from inboxes i where i.address = $3::text
    )
    select a.id, a.name, a.created_at as "createdAt"
    from accounts a
    left join owners o on o.owner_id = a.id
    where o.owner_id is not null or a.name ~ $4::text
    order by o.owner_id is null, a.name !~ ('^(' || $4::text || ')$'), a.created_at desc, a.id desc
    limit $5`;

/** Reads an account's limits and counts what it has. $1 account. Returns no row when it does not exist. */
export const describeAccount = statement('describe-account')`
    select a.id, a.name, a.created_at as "createdAt", a.notice_email as "noticeEmail", a.webhooks_max as "webhooksMax",
           a.domains_max as "domainsMax", a.unverified_domains_max as "unverifiedDomainsMax",
           a.suspended_at as "suspendedAt",
           (select count(*) from api_keys k where k.account_id = a.id and k.revoked_at is null)::int as keys,
           (select count(*) from webhooks w where w.account_id = a.id and w.removed_at is null)::int as webhooks,
           (select count(*) from domains d where d.account_id = a.id)::int as domains,
           (select count(*) from inboxes i where i.account_id = a.id)::int as inboxes
    from accounts a
    where a.id = $1`;
