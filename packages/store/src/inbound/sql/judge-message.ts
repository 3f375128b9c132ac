import type { Statement } from '../../db/statement.ts';

/**
 * What has to be known before a message is stored for an inbox, or for a rule where there is no inbox: whether the same
 * bytes came in the last 24 hours, and whether the account blocks one of the senders.
 *
 * $1 account, $2 inbox or null, $3 rule or null, $4 digest of the bytes, $5 senders: addresses and domains,
 * $6 now. Null senders cannot be compared: an account that blocks anybody blocks them.
 */
export const judgeMessage: Statement = {
  name: 'judge-message',
  text: `
    select exists (
             select from messages m
             where m.content_digest = $4::bytea and m.created_at > $6::timestamptz - interval '24 hours'
               and (m.inbox_id = $2::text or $2::text is null and m.inbox_id is null and m.rule_id = $3::text)
           ) as repeated,
           exists (
             select from blocked_senders b where b.account_id = $1 and b.sender = any ($5::text[])
           ) or $5::text[] is null and exists (
             select from blocked_senders b where b.account_id = $1
           ) as blocked`,
};
