import type { Statement } from '../statement.ts';

/**
 * Takes one message in hand for a hand-over to the provider; the guarantee of take-deliveries.
 *
 * $1 email id, $2 claim, $3 lease in seconds (it begins when the row is due). The contents of the attachments come one
 * behind the other.
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
    set claim = s.claim + 1, leased_until = greatest(s.due_at, now()) + make_interval(secs => $3),
        taken_at = greatest(s.due_at, now())
    from mine, emails e
    where s.email_id = mine.email_id and s.email_id = $1 and e.id = $1
    returning s.claim, s.attempts, e.id, e.account_id, e.from_address, e.to_addresses, e.cc_addresses, e.bcc_addresses,
              e.reply_to_addresses, e.subject, e.html, e.text, e.headers, e.tags, e.topic_id, e.created_at,
              (select coalesce(json_agg(json_build_object(
                        'filename', a.filename, 'contentType', a.content_type, 'contentId', a.content_id,
                        'bytes', length(a.content)) order by a.position), '[]')
               from email_attachments a where a.email_id = e.id) as attachments,
              (select string_agg(a.content, '' order by a.position)
               from email_attachments a where a.email_id = e.id) as contents,
              greatest(0, ceil(extract(epoch from s.due_at - now()) * 1000))::int as early_ms`,
};
