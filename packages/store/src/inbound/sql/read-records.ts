import type { Statement } from '../../db/statement.ts';

/**
 * Of each message what its record holds, and no more: a message may be 10 MiB.
 *
 * $1 messages, $2 characters of a text, $3 entries of a list, $4 characters of a name.
 * Returns a row for each that there is, in no order.
 */
export const readRecords: Statement = {
  name: 'read-records',
  text: `
    select m.id, m.account_id as "accountId", m.kind::text as kind, m.status::text as status, m.inbox_id as "inboxId",
           m.thread_id as "threadId", m.rule_id as "ruleId", left(m.message_id, $4::int) as "messageId",
           left(m.in_reply_to, $4::int) as "inReplyTo", m.from_address as "from", m.to_addresses[:$3::int] as "to",
           m.cc_addresses[:$3::int] as cc, m.reply_to_addresses[:$3::int] as "replyTo",
           m.received_for[:$3::int] as "receivedFor", left(m.subject, $4::int) as subject, left(m.text, $2::int) as text,
           m.created_at as "receivedAt", m.size,
           json_build_object('spf', m.spf, 'dkim', m.dkim, 'dmarc', m.dmarc) as auth, m.automatic,
           m.held_reason as "heldReason",
           (select coalesce(json_agg(json_build_object('id', a.id, 'filename', a.filename, 'contentType', a.content_type,
                                                       'contentId', a.content_id, 'size', a.size) order by a.position), '[]')
            from (select a.id, left(a.filename, $4::int) as filename, left(a.content_type, $4::int) as content_type,
                         left(a.content_id, $4::int) as content_id, a.size, a.position
                  from message_attachments a
                  where a.message_id = m.id
                  order by a.position
                  limit $3::int) a) as attachments
    from messages m
    where m.id = any ($1::text[])`,
};
