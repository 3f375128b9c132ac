import type { Statement } from '../../db/statement.ts';
import { SENDER_VERIFIED } from './sender-verified.ts';

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
