import type { Statement } from '../../db/statement.ts';
import { providerMessageLock } from './lock-provider-message.ts';

/**
 * Holds messages whose hand-overs end, until the transaction ends.
 *
 * Guarantee: a report of the provider, which may overtake the provider's own answer, is seen in the next
 * statement or comes after the end; also one that names the message by the provider's id alone.
 *
 * $1 email ids, each once, $2 claims held, $3 the provider's ids of the messages, which nobody knows yet, or
 * null. Returns the ids of those held.
 */
function holding(onLocked: 'skip locked' | ''): string {
  return `
    with held as materialized (
      select s.email_id, u.provider_message_id
      from unnest($1::text[], $2::int[], $3::text[]) u (email_id, claim, provider_message_id)
      join email_sends s on s.email_id = u.email_id and s.claim = u.claim
      join emails e on e.id = u.email_id
      where s.email_id = any ($1::text[]) and e.id = any ($1::text[])
      order by s.email_id
      for update of s ${onLocked}
      for no key update of e ${onLocked}
    )
    select h.email_id, (${providerMessageLock('h.provider_message_id')}) as locked
    from held h`;
}

/** A message that another has locked is passed over: its neighbours do not wait for it. */
export const lockEmails: Statement = { name: 'lock-emails', text: holding('skip locked') };

/** For one message: it is waited for. */
export const awaitEmail: Statement = { name: 'await-email', text: holding('') };
