import { textKey } from '../../db/sql/event-ctes.ts';
import { statement } from '../../db/statement.ts';
import { domainOf } from './find-emails.ts';

/**
 * Selects the answer that an idempotency key got in the last 24 hours, and whether the request was the same.
 * One row or none.
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
export const readKnownAnswer = statement('read-known-answer')`${knownAnswer('$1', '$2', '$3', '$4', '$5')}`;

/**
 * Selects the addresses whose live inbox was deleted in the last hour. Live mail from these addresses still
 * counts. The deletion of an inbox leaves a row with 0 messages.
 *
 * @param parameters account and addresses.
 */
function formerInboxes(...parameters: readonly `$${number}`[]): string {
  const [account, addresses] = parameters;
  return `
            select c.address from counted_sends c
            where c.account_id = ${account} and c.address = any (${addresses}::text[]) and c.messages = 0
              and c.counted_at > now() - interval '1 hour'`;
}

/**
 * Stores messages with their attachments and the keys of their recipients, queues live ones for the provider,
 * and stores the answer for the idempotency key.
 *
 * Guarantee: all of this is stored, or nothing. Among concurrent requests with one idempotency key, at most
 * one stores anything within 24 hours. The others find its row, or they find the key's lock taken (`mine` is
 * false). A request may have a snapshot older than the row, and find the lock free again. Then it conflicts
 * with the row, returns no answer, and must try again. The text of the lock ends with the HTTP route. No HTTP
 * route ends with another one, so the text stands for one key and one route.
 *
 * The answer is stored under the digest of the request. Another request with the same key gets `same` =
 * false. If a domain or a topic is missing, nothing is stored, and the key stays free.
 *
 * $1 account, $2 key kind, $3 messages, $4 attachments without their content (JSON arrays of the records
 * below), $5 the contents of all attachments, concatenated, $6 domains that must be verified, $7 topics that
 * must belong to the account, $8 HTTP route, $9 idempotency key or null, $10 digest of the
 * request, $11 answer (JSON), $12 addresses in From. If an inbox has one of these, or had it in the last
 * hour, nothing is stored, unless $17 says that the inboxes are locked. $13 API key or null, $14 id of the
 * HTTP request or null, $15 and $16 message and address of each recipient. Returns one row.
 */
export const sendEmails = statement('send-emails')`
    with known as materialized (${knownAnswer('$1', '$2', '$8', '$9', '$10')}
    ),
    judged as materialized (
      select
        array(select t.id from unnest($7::text[]) t (id)
              where (select o.id from topics o where o.id = t.id and o.account_id = $1) is null) as unknown_topics,
        array(select n.name from unnest($6::text[]) n (name)
              where (select d.id from domains d
                     where d.name = n.name and d.account_id = $1 and d.status = 'verified') is null) as unverified,
        not $17::bool and (
          exists (
            select from inboxes i where i.account_id = $1 and i.kind = $2::key_kind and i.address = any ($12::text[])
          )
          or $2::key_kind = 'live' and exists (${formerInboxes('$1', '$12')})
        ) as from_inbox,
        case when $9 is null then true
             else pg_try_advisory_xact_lock(hashtextextended(concat_ws('/', $1, $2::text, $9, $8), 0))
        end as mine
    ),
    remembered as (
      insert into idempotency_keys as i (account_id, kind, route, key, request_digest, answer)
      select $1, $2::key_kind, $8, $9, $10, $11::json
      from judged j
      where $9 is not null and j.mine and j.unknown_topics = '{}' and j.unverified = '{}' and not j.from_inbox
      on conflict (account_id, kind, route, key) do update
        set request_digest = excluded.request_digest, answer = excluded.answer, created_at = excluded.created_at
        where i.created_at <= now() - interval '24 hours'
      returning i.key
    ),
    agreed as materialized (
      select true as yes
      from judged j
      where j.unknown_topics = '{}' and j.unverified = '{}' and not j.from_inbox and ($9 is null or exists (select from remembered))
    ),
    stored_emails as (
      insert into emails (id, account_id, kind, status, last_event, from_address, from_domain, to_addresses,
                          cc_addresses, bcc_addresses, reply_to_addresses, subject, html, text, headers, tags, topic_id, created_at,
                          api_key_id, request_id)
      select m.id, $1, $2::key_kind,
             case when $2::key_kind = 'live' then 'queued'::email_status else 'stored'::email_status end,
             case when $2::key_kind = 'live' then 'queued' else 'stored' end,
             m."from", m."fromDomain", m."to", m.cc, m.bcc, m."replyTo", m.subject, m.html, m.text, m.headers, m.tags,
             m."topicId", now(), $13::text, $14::text
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
    recipients as (
      insert into email_recipients (email_id, address_key, domain_key)
      select r.email_id, ${textKey('r.address')}, ${textKey(domainOf('r.address'))}
      from agreed, unnest($15::text[], $16::text[]) r (email_id, address)
    ),
    queued as (
      insert into email_sends (email_id) select id from stored_emails where $2::key_kind = 'live'
    )
    select exists (select from agreed) as stored, j.mine, j.unknown_topics as "unknownTopics",
           j.unverified as "unverifiedDomains", j.from_inbox as "fromInbox", k.same, k.answer
    from judged j left join known k on true`;

/** Makes the account that owns Postrider's own mail. $1 account. */
export const keepNoticesAccount = statement('keep-notices-account')`
    insert into accounts (id, name) values ($1, 'Postrider notices') on conflict do nothing`;

/**
 * Locks the inboxes that send mail, so that one transaction at a time counts and adds their sent mail.
 *
 * Guarantee: a later statement of the same transaction sees the mail that the last holder of the lock sent.
 *
 * $1 account, $2 kind, $3 addresses, normalised by inboundAddress. Returns id and address of each, locked in
 * the order of the ids.
 */
export const lockInboxSenders = statement('lock-inbox-senders')`
    select i.id, i.address from inboxes i
    where i.id = any (array(
      select a.id from inboxes a where a.account_id = $1 and a.kind = $2::key_kind and a.address = any ($3::text[])))
    order by i.id
    for no key update`;

/**
 * Locks addresses whose inbox was deleted in the last hour, so that one transaction at a time counts their
 * mail. Run it after `lock-inbox-senders`: only then it sees an inbox that was deleted while that statement
 * waited.
 *
 * Guarantee: a later statement of the same transaction sees the mail that the last holder of the lock sent.
 *
 * $1 account, $2 addresses. Returns each locked address.
 */
export const lockFormerSenders = statement('lock-former-senders')`
    select f.address
    from (select distinct c.address from (${formerInboxes('$1', '$2')}) c order by c.address) f
    cross join lateral pg_advisory_xact_lock(hashtextextended(concat_ws('/', 'inbox sends', $1, f.address), 0))`;

/**
 * Adds sent mail to the threads of its inboxes, and starts new threads. It counts the live mail. Run it under
 * the locks of the inboxes and of the addresses.
 *
 * $1 account, $2 kind, $3 records (JSON array: email, address, as how many messages the email counts; inbox,
 * thread and the subject of a new thread, or nulls).
 */
export const addInboxSends = statement('add-inbox-sends')`
    with given as materialized (
      select * from json_to_recordset($3::json) as g (
        "emailId" text, address text, messages int, "inboxId" text, "threadId" text, "isNew" boolean, subject text)
    ),
    begun as (
      insert into inbox_threads (id, inbox_id, subject, created_at, last_at)
      select g."threadId", g."inboxId", g.subject, now(), now() from given g where g."isNew"
    ),
    joined as (
      update inbox_threads t set last_at = greatest(t.last_at, now())
      where t.id = any (array(select g."threadId" from given g where not g."isNew"))
    ),
    counted as (
      insert into counted_sends (id, account_id, address, messages, counted_at)
      select g."emailId", $1, g.address, g.messages, now() from given g where $2::key_kind = 'live'
    )
    insert into inbox_sends (email_id, inbox_id, thread_id, created_at)
    select g."emailId", g."inboxId", g."threadId", now() from given g where g."inboxId" is not null`;

/**
 * Checks if addresses or threads sent more in the last hour than their limits.
 *
 * $1 account, $2 addresses, $3 limit of an address in messages per hour, $4 threads, $5 limit of a thread in
 * emails per hour.
 */
export const judgeInboxSends = statement('judge-inbox-sends')`
    select exists (
             select from unnest($2::text[]) a (address)
             where (select sum(c.messages) from counted_sends c
                    where c.account_id = $1 and c.address = a.address and c.counted_at > now() - interval '1 hour') > $3
           ) as "inboxIsOver",
           exists (
             select from unnest($4::text[]) t (id)
             where (select count(*) from inbox_sends s
                    where s.thread_id = t.id and s.created_at > now() - interval '1 hour') > $5
           ) as "threadIsOver"`;
