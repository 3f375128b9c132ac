import type { Statement } from '../../db/statement.ts';

/**
 * Who receives mail for an address: its inbox, and the one rule that takes it, the exact one before that of the domain. On a
 * domain that is not shared only the account counts that has verified it at this moment.
 *
 * $1 addresses as inboundAddress writes them, $2 shared domains.
 * Returns a row for each address that leads somewhere: address, account, kind of the inbox (live without one), inbox or
 * null, rule or null.
 */
export const findRecipients: Statement = {
  name: 'find-recipients',
  text: `
    with asked as materialized (
      select a.address, split_part(a.address, '@', 2) as domain,
             split_part(a.address, '@', 2) = any ($2::text[]) as shared,
             (select d.account_id from domains d
              where d.name = split_part(a.address, '@', 2) and d.status = 'verified') as owner
      from unnest($1::text[]) a (address)
    )
    select a.address, coalesce(i.account_id, r.account_id) as "accountId", coalesce(i.kind, 'live')::text as kind,
           i.id as "inboxId", r.id as "ruleId"
    from asked a
    left join inboxes i on i.address = a.address and (a.shared or i.account_id = a.owner)
    left join lateral (
      select r.id, r.account_id
      from inbound_routes r
      where r.match = a.address and (a.shared or r.account_id = a.owner)
         or r.match = '*@' || a.domain and not a.shared and r.account_id = a.owner
      order by r.match = a.address desc
      limit 1
    ) r on true
    where i.id is not null or r.id is not null`,
};

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

/**
 * What a message does to its thread, in a statement with a row `given` ("inboxId", "threadId", subject, "receivedAt"): it
 * begins the thread `newThread`, or else it is the newest message of the thread that it joins.
 *
 * @param newThread the parameter with the id of the thread that it begins, or null.
 */
function intoThread(newThread: `$${number}`): string {
  return `
    begun as (
      insert into inbox_threads (id, inbox_id, subject, created_at, last_at)
      select ${newThread}, m."inboxId", m.subject, m."receivedAt", m."receivedAt" from given m where ${newThread}::text is not null
    ),
    joined as (
      update inbox_threads t set last_at = greatest(t.last_at, m."receivedAt") from given m where t.id = m."threadId"
    )`;
}

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

/**
 * Releases a held message into its thread.
 *
 * Guarantee: of several at once one releases it. Run under the lock of its inbox, if it has one.
 *
 * $1 message, $2 the thread that it joins or null, $3 a new thread's id or null, $4 now. No row when it is not held.
 */
export const releaseMessage: Statement = {
  name: 'release-message',
  text: `
    with given as materialized (
      select m.id, m.inbox_id as "inboxId", $2::text as "threadId", m.subject, m.created_at as "receivedAt"
      from messages m
      where m.id = $1 and m.status = 'held'
      for no key update
    ),${intoThread('$3')}
    update messages m
    set status = 'released', thread_id = coalesce($2::text, $3::text), released_at = $4::timestamptz
    from given g
    where m.id = g.id
    returning m.id`,
};
