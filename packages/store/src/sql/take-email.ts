import type { Statement } from '../statement.ts';
import { SENDER_VERIFIED } from './sender-verified.ts';

/**
 * Takes one message in hand for a hand-over to the provider; the guarantee of take-deliveries.
 *
 * It also judges the domain in From: `domain_unverified` says that the message must not be handed over. A null
 * `from_domain` is judged so, too, until `fill-from-domain` has judged it anew.
 *
 * It counts the hand-over as unrecorded: retry-email and excuse-email take that back, and a message that ends has no row.
 *
 * $1 email id, $2 claim, $3 lease in seconds (it begins when the row is due), $4 whether mail leaves from verified domains
 * only. The contents of the attachments come one behind the other.
 */
export const takeEmail: Statement = {
  name: 'take-email',
  text: `
    with mine as materialized (
      select s.email_id
      from email_sends s
      where s.email_id = $1 and s.claim = $2
      for update of s
    )
    update email_sends s
    set claim = s.claim + 1, unrecorded = s.unrecorded + 1, leased_until = greatest(s.due_at, now()) + make_interval(secs => $3),
        taken_at = greatest(s.due_at, now())
    from mine, emails e
    where s.email_id = mine.email_id and s.email_id = $1 and e.id = $1
    returning s.claim, s.attempts, s.unrecorded, e.id, e.account_id, e.from_address, e.from_domain,
              $4::boolean and not ${SENDER_VERIFIED} as domain_unverified, e.to_addresses, e.cc_addresses, e.bcc_addresses,
              e.reply_to_addresses, e.subject, e.html, e.text, e.headers, e.tags, e.topic_id, e.created_at,
              (select coalesce(json_agg(json_build_object(
                        'filename', a.filename, 'contentType', a.content_type, 'contentId', a.content_id,
                        'bytes', length(a.content)) order by a.position), '[]')
               from email_attachments a where a.email_id = e.id) as attachments,
              (select string_agg(a.content, '' order by a.position)
               from email_attachments a where a.email_id = e.id) as contents,
              greatest(0, ceil(extract(epoch from s.due_at - now()) * 1000))::int as early_ms`,
};
