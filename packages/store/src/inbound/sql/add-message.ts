import type { Statement } from '../../db/statement.ts';
import { intoThread } from './into-thread.ts';

/**
 * Stores a received message with its attachments. Without a thread to join it begins one, unless it is held or has no inbox.
 *
 * Guarantee: run under the lock of its inbox or rule. No blob that it names is swept as long as the transaction lasts, but for
 * those that it returns: then the transaction has to be undone. `for key share` waits for a sweep that is choosing blobs, and lets
 * the next one wait for this transaction.
 *
 * With "bodyOf", text, html and headers are copied from that message. It must be of this transaction: nothing else can delete it
 * then. Postgres copies a compressed value as it is, so that a body of 10 MiB is sent, parsed and compressed once for 50 inboxes.
 * A value that did not shrink it tries to compress again for each, which lz4 does in time (docs/decisions/0024).
 *
 * $1 message and $2 attachments (JSON arrays of the records below), $3 a new thread's id, or null.
 * Returns blobs that the sweep has taken, with the time as text until which it may still remove the bytes, and whether that is over.
 */
export const addMessage: Statement = {
  name: 'add-message',
  text: `
    with given as materialized (
      select * from json_to_record($1::json) as m (
        id text, "accountId" text, kind key_kind, "inboxId" text, "threadId" text, "ruleId" text, status message_status,
        "heldReason" text, "receivedAt" timestamptz, "contentDigest" text, blob text, size int, "messageId" text,
        "inReplyTo" text, "references" text[], "from" text, "to" text[], cc text[], "replyTo" text[], "receivedFor" text[],
        subject text, "bodyOf" text, text text, html text, headers json, spf text, dkim text, dmarc text, automatic boolean,
        "notifiedAt" timestamptz)
    ),${intoThread('$3')},
    stored as (
      insert into messages (id, account_id, kind, inbox_id, thread_id, rule_id, status, held_reason, created_at,
        content_digest, blob, size, message_id, in_reply_to, reference_ids, from_address, to_addresses, cc_addresses,
        reply_to_addresses, received_for, subject, text, html, headers, spf, dkim, dmarc, automatic, notified_at)
      select m.id, m."accountId", m.kind, m."inboxId", coalesce(m."threadId", $3), m."ruleId", m.status, m."heldReason",
        m."receivedAt", decode(m."contentDigest", 'hex'), m.blob, m.size, m."messageId", m."inReplyTo", m."references",
        m."from", m."to", m.cc, m."replyTo", m."receivedFor", m.subject,
        coalesce(b.text, m.text), coalesce(b.html, m.html), coalesce(b.headers, m.headers), m.spf, m.dkim, m.dmarc,
        m.automatic, m."notifiedAt"
      from given m left join messages b on b.id = m."bodyOf"
    ),
    files as materialized (
      select * from json_to_recordset($2::json) as a (
        id text, position int, filename text, "contentType" text, "contentId" text, size int, blob text)
    ),
    attached as (
      insert into message_attachments (id, message_id, position, filename, content_type, content_id, size, blob)
      select a.id, m.id, a.position, a.filename, a."contentType", a."contentId", a.size, a.blob from given m, files a
    )
    select b.id, b.leased_until::text as "leasedUntil", b.leased_until <= clock_timestamp() as "isOver"
    from swept_blobs b
    where b.id = any (array(select m.blob from given m union all select a.blob from files a))
    order by b.id
    for key share of b`,
};
