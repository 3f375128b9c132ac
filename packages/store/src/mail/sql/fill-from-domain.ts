import type { Statement } from '../../db/statement.ts';
import { SENDER_VERIFIED } from './sender-verified.ts';

/**
 * Fills the domain in From of a message that was stored without one, and judges it as take-email does.
 *
 * $1 email id, $2 domain, $3 whether mail leaves from verified domains only. Returns one row, or none when the message
 * is gone.
 */
export const fillFromDomain: Statement = {
  name: 'fill-from-domain',
  text: `
    update emails e
    set from_domain = $2
    where e.id = $1
    returning $3::boolean and not ${SENDER_VERIFIED} as domain_unverified`,
};
