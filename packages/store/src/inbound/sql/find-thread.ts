import type { Statement } from '../../db/statement.ts';

/**
 * The thread that a message belongs to: that of the first of its references that the inbox has received or sent, else that
 * of an answer to it which came first. What the inbox sent is known by the email's id, which is the local part of our
 * Message-ID, and by the id that SES gave it, whatever its domain.
 *
 * $1 inbox, $2 ids of messages without brackets, the likeliest first, $3 the message's own id or null.
 * Returns the thread; no row when there is none.
 */
export const findThread: Statement = {
  name: 'find-thread',
  text: `
    select coalesce(
      (select found.thread_id
       from unnest($2::text[]) with ordinality c (id, place)
       cross join lateral (
         select m.thread_id from messages m
         where m.inbox_id = $1 and m.message_id = c.id and m.thread_id is not null
         union all
         select s.thread_id from inbox_sends s
         where s.inbox_id = $1 and s.email_id = split_part(c.id, '@', 1)
         union all
         select s.thread_id from emails e join inbox_sends s on s.email_id = e.id
         where c.id ~* '@([a-z0-9-]+\\.)?amazonses\\.com$' and e.provider_message_id = split_part(c.id, '@', 1)
           and s.inbox_id = $1
         limit 1
       ) found
       order by c.place
       limit 1),
      (select m.thread_id from messages m
       where m.inbox_id = $1 and m.in_reply_to = $3::text and m.thread_id is not null
       limit 1)
    ) as "threadId"`,
};
