import { statement } from '../../db/statement.ts';

/**
 * True for a message `e` if its account has verified exactly the domain in From. False when the domain is
 * null. It avoids `exists`: a plan for several messages would read all domains.
 */
const SENDER_VERIFIED = `((
  select true from domains d
  where d.name = e.from_domain and d.account_id = e.account_id and d.status = 'verified') is not null)`;

/**
 * Fills the domain in From of a message that was stored without one, and checks it as `take-emails` does.
 *
 * $1 email id, $2 domain, $3 true when mail is sent from verified domains only. Returns one row, or none when
 * the message is deleted.
 */
export const fillFromDomain = statement('fill-from-domain')`
    update emails e
    set from_domain = $2
    where e.id = $1
    returning $3::boolean and not ${SENDER_VERIFIED} as "domainUnverified"`;

/**
 * Takes messages for one send attempt each.
 *
 * Guarantee: as in take-deliveries, exactly one job with a claim gets the row.
 *
 * "domainUnverified" means that the message must not be sent. It is also true when `from_domain` is null,
 * until `fill-from-domain` has checked the domain.
 *
 * The take counts the attempt as unrecorded. `retry-emails` and `forgive-fault` subtract it again. A message
 * that ends has no row any more.
 *
 * $1 email ids, $2 their claims, $3 lease in seconds (from the due time on), $4 true when mail is sent from
 * verified domains only. Attachments are returned without their contents, which may be large.
 */
export const takeEmails = statement('take-emails')`
    with mine as materialized (
      select s.email_id
      from unnest($1::text[], $2::int[]) job (id, claim)
      join email_sends s on s.email_id = job.id and s.claim = job.claim
      where s.email_id = any ($1::text[])
      order by s.email_id
      for update of s
    ),
    taken as (
      update email_sends s
      set claim = s.claim + 1, unrecorded = s.unrecorded + 1, leased_until = greatest(s.due_at, now()) + make_interval(secs => $3),
          taken_at = greatest(s.due_at, now())
      where s.email_id = any (array(select email_id from mine))
      returning s.email_id, s.claim, s.attempts, s.unrecorded, s.unconfirmed, s.rest, s.due_at
    )
    select t.claim, t.attempts as "attemptsMade", t.unrecorded - 1 as faults, t.unconfirmed, t.rest, e.id as "emailId",
           e.account_id as "accountId", e.from_address as "from", e.from_domain as "fromDomain",
           $4::boolean and not ${SENDER_VERIFIED} as "domainUnverified",
           (select a.suspended_at from accounts a where a.id = e.account_id) is not null as "accountSuspended", e.to_addresses as "to", e.cc_addresses as cc,
           e.bcc_addresses as bcc, e.reply_to_addresses as "replyTo", e.subject, e.html, e.text, e.headers, e.tags,
           e.topic_id as "topicId", e.created_at as "createdAt",
           (select coalesce(json_agg(json_build_object(
                     'filename', a.filename, 'contentType', a.content_type, 'contentId', a.content_id,
                     'bytes', length(a.content)) order by a.position), '[]')
            from email_attachments a where a.email_id = e.id) as attachments,
           greatest(0, ceil(extract(epoch from t.due_at - now()) * 1000))::int as "dueInMs"
    from taken t
    cross join lateral (select * from emails where id = t.email_id offset 0) e`;

/**
 * Reads the contents of a message's attachments, concatenated. This is not part of the take: one message may
 * have as many bytes as a thousand others.
 *
 * $1 email id. Returns one row; its value is null without attachments.
 */
export const readContents = statement('read-contents')`
    select string_agg(a.content, '' order by a.position) as contents from email_attachments a where a.email_id = $1`;

/**
 * Finds the suppressed recipients of messages, for all mail (`topic_id` is '') or for the message's topic.
 *
 * Guarantee: one snapshot reads the topic and its suppressions. They are deleted together, so the statement
 * either finds the suppressions, or reports that the topic is deleted.
 *
 * For each message: $1 account, $2 topic or null, $3 addresses (lower case, the domain in ASCII) as a JSON
 * list. Returns one row for each message, in the given order, with each address once.
 */
export const suppressedAmong = statement('suppressed-among')`
    select
      array(
        select distinct s.address
        from suppressions s
        where s.account_id = m.account_id
          and s.address = any (array(select json_array_elements_text(m.addresses)))
          and s.topic_id in ('', coalesce(m.topic_id, ''))
        order by s.address
      ) as suppressed,
      m.topic_id is not null
        and (select t.id from topics t where t.id = m.topic_id and t.account_id = m.account_id) is null as "topicGone"
    from unnest($1::text[], $2::text[], $3::json[]) with ordinality as m (account_id, topic_id, addresses, message_order)
    order by m.message_order`;
