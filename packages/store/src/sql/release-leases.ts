import type { Statement } from '../statement.ts';

/**
 * Gives leases back whose jobs could not be queued. Only a row that nobody has taken since is touched.
 *
 * $1 ids, $2 claims they were leased with.
 */
export const releaseDeliveries: Statement = {
  name: 'release-deliveries',
  text: `
    update deliveries d
    set leased_until = null
    from unnest($1::bigint[], $2::int[]) u (id, claim)
    where d.id = u.id and d.claim = u.claim`,
};

/** The same for mail. */
export const releaseEmails: Statement = {
  name: 'release-emails',
  text: `
    update email_sends s
    set leased_until = null
    from unnest($1::text[], $2::int[]) u (id, claim)
    where s.email_id = u.id and s.claim = u.claim`,
};
