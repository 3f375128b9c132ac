import { endLeases } from '../../db/sql/end-leases.ts';
import { statement } from '../../db/statement.ts';

/**
 * Leases mail that is due within the look-ahead.
 *
 * Guarantee, one owner: two relays never get the same row.
 *
 * Guarantee, order in a slow queue: a row that is leased again keeps its claim, so the job that waits still
 * matches (see claim-deliveries).
 *
 * There is no fairness between accounts: an account's rate limit bounds the mail that it can queue.
 *
 * Rows are written by an array of ids, not by a join: decision 0012. `faults`: earlier attempts without a
 * recorded outcome.
 *
 * $1 look-ahead in seconds, $2 maximum number of rows, $3 lease in seconds.
 */
export const claimEmails = statement('claim-emails')`
    with mine as materialized (
      select s.email_id, s.leased_until is not null as lease_expired, s.taken_at is not null as was_taken
      from email_sends s
      where s.due_at <= now() + make_interval(secs => $1)
        and (s.leased_until is null or s.leased_until <= now())
      order by s.due_at
      limit $2
      for update of s skip locked
    )
    update email_sends s
    set leased_until = greatest(s.due_at, now()) + make_interval(secs => $3)
    where s.email_id = any (array(select email_id from mine))
    returning s.email_id as "emailId", s.claim, s.unrecorded as faults,
              s.email_id = any (array(select email_id from mine where lease_expired)) as "leaseExpired",
              s.email_id = any (array(select email_id from mine where lease_expired and was_taken)) as "wasTaken",
              greatest(0, ceil(extract(epoch from s.due_at - now()) * 1000))::int as "dueInMs"`;

/**
 * Frees mail: the relay could not add its job, or a worker fetched the job and did not take the mail. The
 * lease then counts as expired, so the relay's next job gets an id of its own. The old job may still be in
 * the queue, and the queue drops a second job with the same id.
 *
 * $1 email ids, $2 claims: see `endLeases`.
 */
export const releaseEmails = statement('release-emails')`
    ${endLeases({ at: 'now()', table: 'email_sends', id: 'email_id', idType: 'text' })}`;

/**
 * Renews the leases of mail that workers hold, while the provider takes long. $1 email ids, $2 claims held:
 * see `endLeases`; $3 the new lease in seconds, from now on.
 */
export const renewEmailLeases = statement('renew-email-leases')`
    ${endLeases({ at: 'now() + make_interval(secs => $3)', table: 'email_sends', id: 'email_id', idType: 'text' })}`;
