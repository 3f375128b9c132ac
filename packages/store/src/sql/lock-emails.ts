import type { Statement } from '../statement.ts';
import { providerMessageLock } from './await-hand-over.ts';

/**
 * Holds messages whose hand-overs end, until the transaction ends. The guarantee of lock-sent-email, for a batch.
 *
 * A message that another has locked is passed over: its neighbours do not wait for it.
 *
 * $1 email ids, each once, $2 claims held, $3 the provider's ids of the messages or null. Returns the ids of those held.
 */
export const lockEmails: Statement = {
  name: 'lock-emails',
  text: `
    with held as materialized (
      select s.email_id, u.provider_message_id
      from unnest($1::text[], $2::int[], $3::text[]) u (email_id, claim, provider_message_id)
      join email_sends s on s.email_id = u.email_id and s.claim = u.claim
      join emails e on e.id = u.email_id
      where s.email_id = any ($1::text[]) and e.id = any ($1::text[])
      order by s.email_id
      for update of s skip locked
      for no key update of e skip locked
    )
    select h.email_id, (${providerMessageLock('h.provider_message_id')}) as locked
    from held h`,
};
