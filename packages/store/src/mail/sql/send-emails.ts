import type { Statement } from '../../db/statement.ts';

/**
 * What was answered under an idempotency key in the last 24 hours, and whether the same request was. A select of no row or one.
 *
 * @param parameters account, kind, route, key and digest.
 */
function knownAnswer(...parameters: readonly `$${number}`[]): string {
  const [account, kind, route, key, digest] = parameters;
  return `
      select k.request_digest = ${digest}::bytea as same, k.answer
      from idempotency_keys k
      where k.account_id = ${account}::text and k.kind = ${kind}::key_kind and k.route = ${route}::text and k.key = ${key}::text
        and k.created_at > now() - interval '24 hours'`;
}

/** $1 account, $2 kind, $3 route, $4 idempotency key, $5 digest of the request. */
export const readKnownAnswer: Statement = {
  name: 'read-known-answer',
  text: knownAnswer('$1', '$2', '$3', '$4', '$5'),
};

/**
 * Takes messages in for sending: each with its attachments, its place in the outbox (live mail), and the answer
 * remembered for a repetition.
 *
 * Guarantee: one statement, its own transaction: all of it is stored or nothing. Of any number of concurrent requests
 * with one idempotency key at most one stores anything in 24 hours. The others see its row, or that somebody holds the
 * key's lock, or, where their snapshot is older than that row and the lock free again, conflict with it and return
 * nothing but `mine`: they ask again.
 *
 * The answer is remembered under the request's own digest; another request under the key is told so (`same` is false).
 * A domain or topic that is missing stores nothing, and so leaves the key free.
 *
 * $1 account, $2 key kind, $3 messages, $4 attachments without their content (JSON arrays of the records below),
 * $5 the contents of all attachments one behind the other, $6 names of domains that have to be verified,
 * $7 topics that have to be the account's, $8 created at, $9 route, $10 idempotency key or null, $11 digest of the request,
 * $12 answer (JSON), $13 addresses in From that may be inboxes': where one is, live mail is not stored, unless $14 says that it is locked.
 * Returns one row.
 */
export const sendEmails: Statement = {
  name: 'send-emails',
  text: `
    with known as materialized (${knownAnswer('$1', '$2', '$9', '$10', '$11')}
    ),
    judged as materialized (
      select
        array(select t.id from unnest($7::text[]) t (id)
              where (select o.id from topics o where o.id = t.id and o.account_id = $1) is null) as unknown_topics,
        array(select n.name from unnest($6::text[]) n (name)
              where (select d.id from domains d
                     where d.name = n.name and d.account_id = $1 and d.status = 'verified') is null) as unverified,
        not $14::bool and exists (
          select from inboxes i where i.account_id = $1 and i.kind = $2::key_kind and i.address = any ($13::text[])
        ) as from_inbox,
        case when $10 is null then true
             else pg_try_advisory_xact_lock(hashtextextended(concat_ws('/', $1, $2::text, $9, $10), 0))
        end as mine
    ),
    remembered as (
      insert into idempotency_keys as i (account_id, kind, route, key, request_digest, answer)
      select $1, $2::key_kind, $9, $10, $11, $12::json
      from judged j
      where $10 is not null and j.mine and j.unknown_topics = '{}' and j.unverified = '{}' and not j.from_inbox
      on conflict (account_id, kind, route, key) do update
        set request_digest = excluded.request_digest, answer = excluded.answer, created_at = excluded.created_at
        where i.created_at <= now() - interval '24 hours'
      returning i.key
    ),
    agreed as materialized (
      select true as yes
      from judged j
      where j.unknown_topics = '{}' and j.unverified = '{}' and not j.from_inbox and ($10 is null or exists (select from remembered))
    ),
    stored as (
      insert into emails (id, account_id, kind, status, last_event, from_address, from_domain, to_addresses,
                          cc_addresses, bcc_addresses, reply_to_addresses, subject, html, text, headers, tags, topic_id, created_at)
      select m.id, $1, $2::key_kind,
             case when $2::key_kind = 'live' then 'queued'::email_status else 'stored'::email_status end,
             case when $2::key_kind = 'live' then 'queued' else 'stored' end,
             m."from", m."fromDomain", m."to", m.cc, m.bcc, m."replyTo", m.subject, m.html, m.text, m.headers, m.tags,
             m."topicId", $8::timestamptz
      from agreed, json_to_recordset($3::json) as m (
        id text, "from" text, "fromDomain" text, "to" text[], cc text[], bcc text[], "replyTo" text[], subject text, html text, text text,
        headers json, tags json, "topicId" text)
      returning id
    ),
    files as (
      insert into email_attachments (email_id, position, filename, content, content_type, content_id)
      select f."emailId", f.position, f.filename, substring($5::bytea from f.begins + 1 for f.bytes), f."contentType",
             f."contentId"
      from agreed, json_to_recordset($4::json) as f (
        "emailId" text, position int, filename text, begins int, bytes int, "contentType" text, "contentId" text)
    ),
    queued as (
      insert into email_sends (email_id) select id from stored where $2::key_kind = 'live'
    )
    select exists (select from agreed) as stored, j.mine, j.unknown_topics as "unknownTopics",
           j.unverified as "unverifiedDomains", j.from_inbox as "fromInbox", k.same, k.answer
    from judged j left join known k on true`,
};
