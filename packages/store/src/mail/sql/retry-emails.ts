import type { Statement } from '../../db/statement.ts';

/**
 * Puts messages back whose hand-over was deferred, due again after the delay.
 *
 * Guarantee: fenced by the claim, locked in the order of ids.
 *
 * $1 email ids, $2 claims held, $3 delays in ms. Returns the ids and claims of those put back.
 */
export const retryEmails: Statement = {
  name: 'retry-emails',
  text: `
    with u as materialized (
      select * from unnest($1::text[], $2::int[], $3::float8[]) u (email_id, claim, delay)
    ),
    mine as materialized (
      select s.email_id, u.claim, u.delay
      from u
      join email_sends s on s.email_id = u.email_id and s.claim = u.claim
      where s.email_id = any ($1::text[])
      order by s.email_id
      for update of s
    )
    update email_sends s
    set attempts = s.attempts + 1, unrecorded = greatest(0, s.unrecorded - 1), claim = s.claim + 1, leased_until = null,
        taken_at = null,
        due_at = now() + make_interval(secs => (select m.delay / 1000 from mine m where m.email_id = s.email_id))
    where s.email_id = any (array(select email_id from mine))
    returning s.email_id, s.claim - 1 as claim`,
};
