import type { Statement } from '../../db/statement.ts';

/**
 * Finds the message that a notification is about, and holds it until the transaction ends.
 *
 * Guarantee: our own id decides; the provider's is asked only when ours names no message, and the id in the message's own
 * header only when the provider's names none either. Reports about one message
 * follow each other, so that each sees the last event that the one before has left.
 *
 * $1 our id or null, $2 the provider's id or null, $3 our id in the header or null. Returns no row, or one.
 */
export const lockNotifiedEmail: Statement = {
  name: 'lock-notified-email',
  text: `
    select id, account_id, from_address, subject
    from emails
    where id = coalesce(
      (select id from emails where id = $1),
      (select id from emails where provider_message_id = $2 order by id limit 1),
      (select id from emails where id = $3)
    )
    for no key update`,
};
