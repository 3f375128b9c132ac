import type { Statement } from '../statement.ts';

/**
 * Reads what is known of a message whose hand-over ends, and holds it until the transaction ends.
 *
 * Guarantee: a report of the provider, which may overtake the provider's own answer, is either seen here or comes after.
 *
 * $1 email id.
 */
export const lockSentEmail: Statement = {
  name: 'lock-sent-email',
  text: `
    select last_event
    from emails
    where id = $1
    for no key update`,
};
