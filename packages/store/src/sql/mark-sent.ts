import type { Statement } from '../statement.ts';

/**
 * Marks a message as taken by the provider.
 *
 * Guarantee: one that the provider has already reported as failed (a template that could not be rendered) stays so.
 *
 * $1 email id, $2 last event, $3 when it was sent, $4 the provider's id of the message or null.
 */
export const markSent: Statement = {
  name: 'mark-sent',
  text: `
    update emails
    set status = case when status = 'failed' then status else 'sent' end,
        last_event = $2,
        sent_at = $3::timestamptz,
        provider_message_id = $4
    where id = $1`,
};
