import type { Statement } from '../../db/statement.ts';

/**
 * Sets the end of leases, $1 ids, $2 claims they were leased with. Only a row that nobody has taken since is
 * touched; one that is locked is being taken or deleted, and is not waited for (rows locked in another order than
 * a DELETE's could deadlock).
 */
function endingAt(leasedUntil: string, table: string, id: string, type: string): string {
  return `
    with mine as materialized (
      select d.${id}
      from unnest($1::${type}[], $2::int[]) u (id, claim)
      join ${table} d on d.${id} = u.id and d.claim = u.claim
      where d.${id} = any ($1::${type}[])
      for update of d skip locked
    )
    update ${table} d
    set leased_until = ${leasedUntil}
    where d.${id} = any (array(select ${id} from mine))`;
}

/** Gives leases back whose jobs could not be queued. */
export const releaseDeliveries: Statement = {
  name: 'release-deliveries',
  text: endingAt('null', 'deliveries', 'id', 'bigint'),
};

/** The same for mail, which is waited for. */
export const releaseEmails: Statement = {
  name: 'release-emails',
  text: `
    update email_sends s
    set leased_until = null
    from unnest($1::text[], $2::int[]) u (id, claim)
    where s.email_id = u.id and s.claim = u.claim and s.email_id = any ($1::text[])`,
};

/**
 * Ends the leases of mail that a worker was given and has not taken. The relay leases it as mail whose lease
 * ran out, so under a new claim: the job that carried it may still be in the queue, which drops another job
 * of the same id.
 */
export const releaseUnbegunEmails: Statement = {
  name: 'release-unbegun-emails',
  text: endingAt('now()', 'email_sends', 'email_id', 'text'),
};
