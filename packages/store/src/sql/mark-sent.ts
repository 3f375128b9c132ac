import type { Statement } from '../statement.ts';

/**
 * Marks a message as taken by the provider.
 *
 * Guarantee: a report of the provider that came before this, and has told more, stays the last that is known.
 *
 * $1 email id, $2 last event, $3 when it was sent, $4 the provider's id of the message or null.
 */
export const markSent: Statement = {
  name: 'mark-sent',
  text: `
    update emails
    set status = 'sent',
        last_event = case when last_event = 'queued' then $2 else last_event end,
        sent_at = $3::timestamptz,
        provider_message_id = $4
    where id = $1`,
};
