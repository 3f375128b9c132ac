import { statement } from '../../db/statement.ts';
import { receives } from '../../domains/sql/domains.ts';

/**
 * Finds the inbox and the rule for each address. A rule for the exact address comes before a rule for the
 * domain. A rule gets live mail only: beside a test inbox it has a row of its own. On a domain that is not
 * shared, only the account that receives its mail counts. Mail to `postmaster`, without a domain or on a
 * shared domain, is for the inbox that the operator named.
 *
 * $1 addresses as recipientAddress writes them, $2 shared domains. Returns one or two rows for each address
 * that has an inbox or a rule: address, account, kind (live without an inbox), inbox or null, rule or null.
 */
export const findRecipients = statement('find-recipients')`
    with asked as materialized (
      select a.address, split_part(a.address, '@', 2) as domain,
             split_part(a.address, '@', 2) = any ($2::text[]) as shared,
             a.address = 'postmaster' or split_part(a.address, '@', 1) = 'postmaster'
               and split_part(a.address, '@', 2) = any ($2::text[]) as postmaster,
             (select d.account_id from domains d
              where d.name = split_part(a.address, '@', 2) and ${receives('d')}) as owner
      from unnest($1::text[]) a (address)
    )
    select a.address, t.account_id as "accountId", t.kind::text as kind, t.inbox as "inboxId", t.rule as "ruleId"
    from asked a
    left join lateral (
      select i.id, i.account_id, i.kind from inboxes i
      where not a.postmaster and i.address = a.address and (a.shared or i.account_id = a.owner)
      union all
      select i.id, i.account_id, i.kind from inboxes i where a.postmaster and i.postmaster
    ) i on true
    left join lateral (
      select r.id, r.account_id
      from inbound_routes r
      where r.match = any (array[a.address, '*@' || a.domain])
        and (not a.postmaster and r.match = a.address and (a.shared or r.account_id = a.owner)
          or r.match = '*@' || a.domain and not a.shared and r.account_id = a.owner)
      order by r.match = a.address desc
      limit 1
    ) r on true
    cross join lateral (
      select i.account_id, i.kind, i.id as inbox, case when i.kind = 'live' then r.id end as rule
      where i.id is not null
      union all
      select r.account_id, 'live', null, r.id
      where r.id is not null and i.kind is distinct from 'live'
    ) t`;

/**
 * Checks a message before it is stored for an inbox, or for a rule without an inbox. `repeated`: the same
 * bytes arrived in the same envelope within the last hour. `blocked`: the account's block list holds it.
 *
 * Also returns the time, which it reads under the lock of the inbox. So the times of the inbox's messages are
 * in the order of their commits.
 *
 * $1 account, $2 inbox or null, $3 rule or null, $4 digest, $5 block list entries that would hold the
 * message. If $5 is null, any entry of the account holds it.
 */
export const judgeMessage = statement('judge-message')`
    select exists (
             select from messages m
             where m.content_digest = $4::bytea and m.created_at > now() - interval '1 hour'
               and (m.inbox_id = $2::text or $2::text is null and m.inbox_id is null and m.rule_id = $3::text)
           ) as repeated,
           exists (
             select from blocked_senders b where b.account_id = $1 and b.sender = any ($5::text[])
           ) or $5::text[] is null and exists (
             select from blocked_senders b where b.account_id = $1
           ) as blocked,
           date_trunc('milliseconds', statement_timestamp()) as now`;

/**
 * CTEs that start the thread `newThread`, or update the time of the thread that the message joins. The
 * statement needs a CTE `given` with one row ("inboxId", "threadId", subject, "receivedAt").
 *
 * @param newThread the parameter with the id of the new thread, or null.
 */
function intoThread(newThread: `$${number}`): string {
  return `
    begun as (
      insert into inbox_threads (id, inbox_id, subject, created_at, last_at)
      select ${newThread}, m."inboxId", m.subject, m."receivedAt", m."receivedAt" from given m where ${newThread}::text is not null
    ),
    joined as (
      update inbox_threads t set last_at = greatest(t.last_at, (select m."receivedAt" from given m))
      where t.id = (select m."threadId" from given m)
    )`;
}

/**
 * Stores a received message with its attachments. A message that joins no thread starts one, unless it is
 * held or has no inbox.
 *
 * Guarantee: until the transaction ends, the blob sweep takes no blob that the message names. Run the
 * statement under the lock of the inbox or rule. If it returns blobs, the blob sweep has taken them, and the
 * transaction must be rolled back. `for key share` waits for a blob sweep that leases blobs now, and makes
 * the next blob sweep wait for this transaction.
 *
 * With "bodyOf", the statement copies text, html and headers from that message. This transaction must have
 * stored it, so that nothing can delete it. Postgres copies a compressed value unchanged: a body of 10 MiB is
 * sent, parsed and compressed once for 50 inboxes. For a value that did not shrink, Postgres tries the
 * compression again for each copy. lz4 is fast enough for this (docs/decisions/0024).
 *
 * $1 message and $2 attachments (JSON, see the records below), $3 id of a new thread, or null. Returns the
 * blobs that the blob sweep has taken. `leasedUntil`, as text: until then the sweep may remove the bytes.
 * `isOver`: that time has passed.
 */
export const addMessage = statement('add-message')`
    with given as materialized (
      select * from json_to_record($1::json) as m (
        id text, "accountId" text, kind key_kind, "inboxId" text, "threadId" text, "ruleId" text, status message_status,
        "heldReason" text, "receivedAt" timestamptz, digest text, blob text, size int, "messageId" text,
        "inReplyTo" text, "references" text[], "from" text, sender text, "to" text[], cc text[], "replyTo" text[], "receivedFor" text[],
        subject text, "bodyOf" text, text text, html text, headers json, spf text, dkim text, dmarc text, automatic boolean,
        complete boolean, "notifiedAt" timestamptz)
    ),${intoThread('$3')},
    stored as (
      insert into messages (id, account_id, kind, inbox_id, thread_id, rule_id, status, held_reason, created_at,
        content_digest, blob, size, message_id, in_reply_to, reference_ids, from_address, sender, to_addresses, cc_addresses,
        reply_to_addresses, received_for, subject, text, html, headers, spf, dkim, dmarc, automatic, complete, notified_at)
      select m.id, m."accountId", m.kind, m."inboxId", coalesce(m."threadId", $3), m."ruleId", m.status, m."heldReason",
        m."receivedAt", decode(m.digest, 'hex'), m.blob, m.size, m."messageId", m."inReplyTo", m."references",
        m."from", m.sender, m."to", m.cc, m."replyTo", m."receivedFor", m.subject,
        coalesce(b.text, m.text), coalesce(b.html, m.html), coalesce(b.headers, m.headers), m.spf, m.dkim, m.dmarc,
        m.automatic, m.complete, m."notifiedAt"
      from given m left join lateral (select * from messages where id = m."bodyOf" offset 0) b on true
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
    for key share of b`;

/**
 * Releases a held message and adds it to its thread.
 *
 * Guarantee: of concurrent calls, exactly one releases the message. Run the statement under the lock of the
 * inbox, if the message has an inbox.
 *
 * $1 message, $2 the thread that it joins or null, $3 id of a new thread or null. Returns no row when the
 * message is not held.
 */
export const releaseMessage = statement('release-message')`
    with given as materialized (
      select m.id, m.inbox_id as "inboxId", $2::text as "threadId", m.subject, m.created_at as "receivedAt"
      from messages m
      where m.id = $1 and m.status = 'held'
      for no key update
    ),${intoThread('$3')}
    update messages m
    set status = 'released', thread_id = coalesce($2::text, $3::text), released_at = now()
    where m.id = (select g.id from given g)
    returning m.id`;
