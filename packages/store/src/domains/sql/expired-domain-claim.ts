import type { Statement } from '../../db/statement.ts';

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
