import type { Statement } from '../../db/statement.ts';

/**
 * Begins the claims of domains that were stored before claims had a beginning. A domain that is not pending may have been
 * verified, so it counts as verified once.
 *
 * Guarantee: no row changes twice, however often and in how many processes it runs. It waits for no row.
 *
 * $1 rows at the most.
 */
export const beginDomainClaims: Statement = {
  name: 'begin-domain-claims',
  text: `
    update domains
    set claimed_at = now(), first_verified_at = case when status <> 'pending' then now() end
    where id in (
      select id from domains
      where claimed_at is null and first_verified_at is null
      limit $1
      for update skip locked)`,
};

/**
 * One of the domains that were never verified in the days that an account has for it, at random: one that the provider does
 * not judge is in no other's way. One that stands as verified is none of them, also where a process of the last release
 * verified it.
 *
 * $1 claimed before. Returns account, id and name, or no row.
 */
export const expiredDomainClaim: Statement = {
  name: 'expired-domain-claim',
  text: `
    select account_id as "accountId", id, name
    from domains
    where first_verified_at is null and status <> 'verified' and claimed_at < $1::timestamptz
    order by random()
    limit 1`,
};
