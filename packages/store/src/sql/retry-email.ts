import type { Statement } from '../statement.ts';

/**
 * Puts a message back whose hand-over was deferred, due again after the delay. Fenced by the claim.
 *
 * $1 email id, $2 claim held, $3 delay in ms. Returns the id, or no row when the claim is no longer held.
 */
export const retryEmail: Statement = {
  name: 'retry-email',
  text: `
    update email_sends
    set attempts = attempts + 1, unrecorded = greatest(0, unrecorded - 1), claim = claim + 1,
        leased_until = null, taken_at = null, due_at = now() + make_interval(secs => $3::float8 / 1000)
    where email_id = $1 and claim = $2
    returning email_id`,
};
