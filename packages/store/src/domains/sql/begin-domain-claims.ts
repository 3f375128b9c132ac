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
