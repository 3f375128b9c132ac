import type { Statement } from '../statement.ts';
import { providerMessageLock } from './await-hand-over.ts';

/**
 * Reads what is known of a message whose hand-over ends, and holds it until the transaction ends.
 *
 * Guarantee: a report of the provider, which may overtake the provider's own answer, is either seen here or comes after;
 * and one that names the message by the provider's id alone, in the next statement or after the end.
 *
 * $1 email id, $2 the provider's id of the message, which nobody knows yet, or null.
 */
export const lockSentEmail: Statement = {
  name: 'lock-sent-email',
  text: `
    select last_event, (${providerMessageLock('$2')}) as held
    from emails
    where id = $1
    for no key update`,
};
