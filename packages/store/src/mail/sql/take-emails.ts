import type { Statement } from '../../db/statement.ts';

/**
 * A condition on a message `e`: its account has verified the domain in From, by that exact name. False for a message
 * whose domain is null. Not `exists`, which a plan for several messages answers by reading all domains.
 */
const SENDER_VERIFIED = `((
  select true from domains d
  where d.name = e.from_domain and d.account_id = e.account_id and d.status = 'verified') is not null)`;

/**
 * Fills the domain in From of a message that was stored without one, and judges it as take-email does.
 *
 * $1 email id, $2 domain, $3 whether mail leaves from verified domains only. Returns one row, or none when the message
 * is gone.
 */
export const fillFromDomain: Statement = {
  name: 'fill-from-domain',
  text: `
    update emails e
    set from_domain = $2
    where e.id = $1
    returning $3::boolean and not ${SENDER_VERIFIED} as domain_unverified`,
};

/**
 * Takes messages in hand for a hand-over to the provider each; the guarantee of take-deliveries.
 *
 * It also judges the domain in From: `domain_unverified` says that the message must not be handed over. A null
 * `from_domain` is judged so, too, until `fill-from-domain` has judged it anew.
 *
 * It counts the hand-over as unrecorded: retry-emails and forgive-fault take that back, and a message that ends has no row.
 *
 * $1 email ids, $2 their claims, $3 lease in seconds (it begins when the row is due), $4 whether mail leaves from verified
 * domains only. Of attachments it gives all but their contents, which may be long.
 */
export const takeEmails: Statement = {
  name: 'take-emails',
  text: `
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
      returning s.email_id, s.claim, s.attempts, s.unrecorded, s.due_at
    )
    select t.claim, t.attempts, t.unrecorded, e.id, e.account_id, e.from_address, e.from_domain,
           $4::boolean and not ${SENDER_VERIFIED} as domain_unverified, e.to_addresses, e.cc_addresses, e.bcc_addresses,
           e.reply_to_addresses, e.subject, e.html, e.text, e.headers, e.tags, e.topic_id, e.created_at,
           (select coalesce(json_agg(json_build_object(
                     'filename', a.filename, 'contentType', a.content_type, 'contentId', a.content_id,
                     'bytes', length(a.content)) order by a.position), '[]')
            from email_attachments a where a.email_id = e.id) as attachments,
           greatest(0, ceil(extract(epoch from t.due_at - now()) * 1000))::int as early_ms
    from taken t
    cross join lateral (select * from emails where id = t.email_id offset 0) e`,
};

/**
 * Reads the contents of a message's attachments, one behind the other: apart from the take, as one message's may be as long
 * as those of a thousand others.
 *
 * $1 email id. Returns one row; null without attachments.
 */
export const readContents: Statement = {
  name: 'read-contents',
  text: `
    select string_agg(a.content, '' order by a.position) as contents from email_attachments a where a.email_id = $1`,
};

/**
 * Who of the recipients of messages is not to be written to: about anything, or about the message's topic.
 *
 * Guarantee: the topic is looked for in the snapshot of the suppressions about it. They go together, so either they are
 * found, or it is said that the topic is gone.
 *
 * For each message: $1 account, $2 topic or null, $3 addresses (lower case, the domain in ASCII) as a list of JSON.
 * Returns one row for each, in their order; in it each address once.
 */
export const suppressedAmong: Statement = {
  name: 'suppressed-among',
  text: `
    select
      array(
        select distinct s.address
        from suppressions s
        where s.account_id = m.account_id
          and s.address = any (array(select json_array_elements_text(m.addresses)))
          and s.topic_id in ('', coalesce(m.topic_id, ''))
        order by s.address
      ) as addresses,
      m.topic_id is not null
        and (select t.id from topics t where t.id = m.topic_id and t.account_id = m.account_id) is null as topic_gone
    from unnest($1::text[], $2::text[], $3::json[]) with ordinality as m (account_id, topic_id, addresses, at)
    order by m.at`,
};
