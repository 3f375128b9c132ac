import type { Statement } from '../../db/statement.ts';

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
