import type { Statement } from '../statement.ts';

/**
 * Gives leases back whose jobs could not be queued. Only a row that nobody has taken since is touched; one that is
 * locked is being taken or deleted, and is not waited for (rows locked in another order than a DELETE's could deadlock).
 *
 * $1 ids, $2 claims they were leased with.
 */
export const releaseDeliveries: Statement = {
  name: 'release-deliveries',
  text: `
    with mine as materialized (
      select d.id
      from unnest($1::bigint[], $2::int[]) u (id, claim)
      join deliveries d on d.id = u.id and d.claim = u.claim
      where d.id = any ($1::bigint[])
      for update of d skip locked
    )
    update deliveries d
    set leased_until = null
    where d.id = any (array(select id from mine))`,
};

/** The same for mail. */
export const releaseEmails: Statement = {
  name: 'release-emails',
  text: `
    update email_sends s
    set leased_until = null
    from unnest($1::text[], $2::int[]) u (id, claim)
    where s.email_id = u.id and s.claim = u.claim and s.email_id = any ($1::text[])`,
};

/**
 * Ends the leases of mail that a worker was given and has not taken. The relay leases it as mail whose lease ran out, so
 * under a new claim: the job that carried it may still be in the queue, which drops another job of the same id.
 *
 * One that is locked is being taken or deleted, and is not waited for.
 *
 * $1 ids, $2 claims they were leased with.
 */
export const releaseUnbegunEmails: Statement = {
  name: 'release-unbegun-emails',
  text: `
    with mine as materialized (
      select s.email_id
      from unnest($1::text[], $2::int[]) u (id, claim)
      join email_sends s on s.email_id = u.id and s.claim = u.claim
      where s.email_id = any ($1::text[])
      for update of s skip locked
    )
    update email_sends s
    set leased_until = now()
    where s.email_id = any (array(select email_id from mine))`,
};
