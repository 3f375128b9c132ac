import { statement } from '../../db/statement.ts';
import type { Statement } from '../../db/statement.ts';
import { AFTER, attachmentTextBytes, BEFORE } from './read-messages.ts';

/**
 * Finds the thread that a message joins. The first reference that the inbox received or sent decides. If
 * there is none, a reply that arrived before the message decides. Of several messages with one id, the oldest
 * decides: a later one cannot take over the thread.
 *
 * A sent message is found by the email's id, which is the local part of our Message-ID. It is also found by
 * the id from SES, in any of the SES domains.
 *
 * $1 inbox, $2 Message-IDs without brackets, the likeliest first, $3 the message's own Message-ID or null.
 * Returns one row with the thread, or null when the message joins none.
 */
export const findThread = statement('find-thread')`
    select coalesce(
      (select found.thread_id
       from unnest($2::text[]) with ordinality c (id, position)
       cross join lateral (
         select known.thread_id
         from (
           (select m.thread_id, m.created_at, m.id from messages m
            where m.inbox_id = $1 and m.message_id = c.id and m.thread_id is not null
            order by m.created_at, m.id
            limit 1)
           union all
           select s.thread_id, s.created_at, s.email_id from inbox_sends s
           where s.inbox_id = $1 and s.email_id = split_part(c.id, '@', 1)
           union all
           select s.thread_id, s.created_at, s.email_id
           from (select id from emails where provider_message_id = split_part(c.id, '@', 1) offset 0) e
           cross join lateral (select * from inbox_sends where email_id = e.id offset 0) s
           where c.id ~* '@([a-z0-9-]+\\.)?amazonses\\.com$' and s.inbox_id = $1
         ) known
         order by known.created_at, known.id
         limit 1
       ) found
       order by c.position
       limit 1),
      (select m.thread_id from messages m
       where m.inbox_id = $1 and m.in_reply_to = $3::text and m.thread_id is not null
       order by m.created_at, m.id
       limit 1)
    ) as "threadId"`;

/**
 * Whether all that a thread `t` received is read. The condition names inbox, thread and status, as the index
 * `messages_unread_by_thread` does. Held messages have no thread.
 */
const IS_READ = `
  (select true from messages m
   where m.inbox_id = t.inbox_id and m.thread_id = t.id and not m.read and m.status <> 'held' limit 1) is null`;

/**
 * The columns of a thread `t` in a list. Sender and recipients are those of its newest message. `emailCount`
 * and `hasAttachment` may read every message. The subqueries avoid `exists` and joins: Postgres may plan
 * those as a hash of the whole table, or start at the other table. Then it reads the messages of all
 * accounts. Their `order by` is only there to make Postgres use the index by thread.
 */
const THREAD = `
  t.id, t.subject, t.last_at as "lastAt", newest."from", newest."to", newest.cc, newest.bcc,
  (select count(*) from (select from messages m where m.thread_id = t.id order by m.created_at, m.id) m)::int
    + (select count(*) from inbox_sends s where s.thread_id = t.id)::int as "emailCount",
  (select true from messages m where m.thread_id = t.id
     and (select true from message_attachments a where a.message_id = m.id limit 1)
   order by m.created_at, m.id limit 1) is not null
    or (select true from inbox_sends s where s.thread_id = t.id
          and (select true from email_attachments a where a.email_id = s.email_id limit 1) limit 1) is not null as "hasAttachment",
  ${IS_READ} as read`;

const NEWEST = `
  left join lateral (
    select e.* from (
      (select m.created_at, m.id, m.from_address as "from", m.to_addresses as "to", m.cc_addresses as cc, '{}'::text[] as bcc
       from messages m where m.thread_id = t.id order by m.created_at desc, m.id desc limit 1)
      union all
      (select s.created_at, e.id, e.from_address, e.to_addresses, e.cc_addresses, e.bcc_addresses
       from inbox_sends s join emails e on e.id = s.email_id
       where s.thread_id = t.id order by s.created_at desc, s.email_id desc limit 1)
    ) e
    order by e.created_at desc, e.id desc
    limit 1
  ) newest on true`;

/**
 * A page of an inbox's threads, ordered by their newest message.
 *
 * $1 inbox, $2 and $3 time and id of the cursor ('infinity' and '' before the first), $4 number of threads.
 *
 * @param from the threads `t` of the page, within the given range
 */
function pageOfThreads(
  name: string,
  from: (range: string) => string,
  { beyond, order }: typeof AFTER | typeof BEFORE,
): Statement {
  const ordered = `order by t.last_at ${order}, t.id ${order}`;
  const range = `t.inbox_id = $1 and (t.last_at, t.id) ${beyond} ($2::timestamptz, $3::text) ${ordered} limit $4`;
  return statement(name)`
    select ${THREAD} from (${from(range)}
    ) t ${NEWEST}
    ${ordered}`;
}

/** $5 true: only read threads. */
const anyThreads = (range: string): string => `
      select t.* from inbox_threads t where (not $5::bool or ${IS_READ}) and ${range}`;

/** An unread message `m` of the inbox. Held messages have no thread. */
const IS_UNREAD = "m.inbox_id = $1 and not m.read and m.status <> 'held'";

/**
 * Unread threads. An index has the unread messages of the inbox, so each of up to 1,000 unread threads is
 * found by one look-up. If an inbox has more, all its threads are read.
 */
const unreadThreads = (range: string): string => `
      with recursive unread as (
        (select m.thread_id from messages m where ${IS_UNREAD} order by m.thread_id limit 1)
        union all
        select (select m.thread_id from messages m where ${IS_UNREAD} and m.thread_id > u.thread_id
                order by m.thread_id limit 1)
        from unread u where u.thread_id is not null
      ),
      few as materialized (select u.thread_id as id from unread u where u.thread_id is not null limit 1001)
      (select t.* from few f cross join lateral (select * from inbox_threads where id = f.id offset 0) t
       where (select count(*) from few) <= 1000 and ${range})
      union all
      (select t.* from inbox_threads t where (select count(*) from few) > 1000 and not (${IS_READ}) and ${range})`;

export const threadsAfter = pageOfThreads('threads-after', anyThreads, AFTER);
export const threadsBefore = pageOfThreads('threads-before', anyThreads, BEFORE);
export const unreadThreadsAfter = pageOfThreads('unread-threads-after', unreadThreads, AFTER);
export const unreadThreadsBefore = pageOfThreads('unread-threads-before', unreadThreads, BEFORE);

/** A condition: the regular expression in `$n` matches the text. A null matches any text. */
const mentions = (pattern: `$${number}`, text: string): string =>
  `(${pattern}::text is null or ${text} ~ ${pattern}::text)`;

/** The column `matches` of a message for a search. Its text is read only when the search has a word. */
const matchesSearch = (m: string, hasFile: string, bcc: string): string => `
         ${mentions('$6', `${m}.from_address`)} and ${mentions('$7', `array_to_string(${m}.to_addresses, ' ')`)}
           and ${mentions('$8', `array_to_string(${m}.cc_addresses, ' ')`)} and ${mentions('$9', bcc)}
           and ($10::bool is null or $10 = (${hasFile} is not null))
           and case when $5::text is null then true
                 else concat_ws(' ', ${m}.subject, ${m}.from_address, array_to_string(${m}.to_addresses, ' '),
                                array_to_string(${m}.cc_addresses, ' '), left(${m}.text, $12::int)) ~ $5::text
               end as matches`;

const IN_TIME = (at: string): string => `${at} >= $3::timestamptz and ${at} < $4::timestamptz`;

/**
 * Finds threads of an inbox by their messages. The thread with the newest message comes first. It looks only
 * at the newest messages of the time span: at most $11 received and $11 sent ones. It reads at most $12
 * characters of a text.
 *
 * $1 inbox, $2 read or unread threads (null: both), $3 since, $4 until, $5 a regular expression for subject,
 * addresses or body, $6 to $9 regular expressions for From, To, Cc and Bcc, $10 whether the message has a
 * file (null in $5 to $10: any), $13 and $14 time and id of the cursor (nulls: none), $15 true for the page
 * before the cursor, $16 number of threads. Returns each thread with its newest matching message.
 */
export const searchThreads = statement('search-threads')`
    with examined as materialized (
      (select r.* from unnest('{received,released}'::message_status[]) s (status)
       cross join lateral (
         select m.thread_id, m.id, m.created_at,
                ${matchesSearch('m', '(select true from message_attachments a where a.message_id = m.id limit 1)', "''")}
         from messages m
         where m.inbox_id = $1 and m.status = s.status and ${IN_TIME('m.created_at')}
         order by m.created_at desc, m.id desc limit $11
       ) r
       order by r.created_at desc, r.id desc limit $11)
      union all
      (select s.thread_id, s.email_id, s.created_at,
              ${matchesSearch('e', '(select true from email_attachments a where a.email_id = e.id limit 1)', "array_to_string(e.bcc_addresses, ' ')")}
       from (select * from inbox_sends where inbox_id = $1 and ${IN_TIME('created_at')}
             order by created_at desc limit $11) s
       cross join lateral (select * from emails where id = s.email_id offset 0) e)
    ),
    matching as materialized (
      select distinct on (x.thread_id) x.thread_id, x.id
      from examined x where x.matches and x.thread_id is not null
      order by x.thread_id, x.created_at desc, x.id desc
    ),
    page as (
      select t.*, k.id as matched_id
      from matching k cross join lateral (select * from inbox_threads where id = k.thread_id offset 0) t
      where t.inbox_id = $1
        and ($13::timestamptz is null
          or case when $15::bool then (t.last_at, t.id) > ($13::timestamptz, $14::text)
                  else (t.last_at, t.id) < ($13::timestamptz, $14::text) end)
        and ($2::bool is null or $2 = (${IS_READ}))
      order by case when $15::bool then t.last_at end, case when $15::bool then t.id end, t.last_at desc, t.id desc
      limit $16
    )
    select t.matched_id as "matchedEmailId", ${THREAD}
    from page t ${NEWEST}
    order by case when $15::bool then t.last_at end, case when $15::bool then t.id end, t.last_at desc, t.id desc`;

/** Reads the ids of received messages of a thread. $1 inbox, $2 thread, $3 maximum number. */
export const readThreadMessages = statement('read-thread-messages')`
    select m.id from messages m where m.thread_id = $2 and m.inbox_id = $1 order by m.created_at, m.id limit $3`;

/**
 * Moves messages of a thread, received and sent, to a deleted inbox. Received ones leave the thread, and read
 * as missing at once. A relay deletes the rows. The last step moves the thread. Received messages that are
 * left begin a new thread: they arrived during the deletion.
 *
 * Run it under the inbox's lock, so nothing joins the thread meanwhile.
 *
 * $1 inbox, $2 thread, $3 a new id for the deleted inbox, $4 the received messages, $5 maximum number of sent
 * messages, $6 true when no further received messages are to be moved, $7 a new id for the new thread.
 * Returns one row with `isGone`, or no row when the thread does not exist.
 */
export const removeThread = statement('remove-thread')`
    with thread as (select t.id from inbox_threads t where t.inbox_id = $1 and t.id = $2),
    removed as (
      insert into removed_inboxes (id) select $3 from thread
    ),
    received as (
      update messages m set inbox_id = $3, thread_id = null
      where m.id = any ($4::text[]) and m.thread_id = (select t.id from thread t) and m.inbox_id = $1
    ),
    sent as (
      update inbox_sends s set inbox_id = $3
      where s.email_id = any (array(
        select c.email_id from inbox_sends c, thread t where c.thread_id = t.id and c.inbox_id = $1 limit $5))
      returning s.email_id
    ),
    ending as materialized (
      select t.id from thread t where $6::bool and (select count(*) from sent) < $5
    ),
    later as materialized (
      select c.id, c.subject, c.created_at from messages c
      where c.thread_id = (select e.id from ending e) and c.inbox_id = $1 and c.id <> all ($4::text[])
    ),
    begun as (
      insert into inbox_threads (id, inbox_id, subject, created_at, last_at)
      select $7, $1, (array_agg(l.subject order by l.created_at, l.id))[1], min(l.created_at), max(l.created_at)
      from later l having count(*) > 0
    ),
    joined as (
      update messages m set thread_id = $7 where m.id = any (array(select l.id from later l))
    ),
    moved as (
      update inbox_threads t set inbox_id = $3 where t.id = (select e.id from ending e) returning t.id
    )
    select (select true from moved) is not null as "isGone" from thread`;

/** Reads one thread, however long it is. $1 inbox, $2 thread. */
export const readThread = statement('read-thread')`
    select t.id, t.subject, t.last_at as "lastAt", ${IS_READ} as read from inbox_threads t where t.inbox_id = $1 and t.id = $2`;

/**
 * Marks some of a thread's received messages, the oldest first.
 *
 * $1 inbox, $2 thread, $3 true for read, $4 and $5 time and id of the message after which it begins, $6
 * maximum number of messages. Returns the last message of a step with $6 messages: more may follow.
 */
export const markThread = statement('mark-thread')`
    with step as materialized (
      select c.id, c.created_at from messages c
      where c.thread_id = (select t.id from inbox_threads t where t.inbox_id = $1 and t.id = $2) and c.read <> $3
        and (c.created_at, c.id) > ($4::timestamptz, $5::text)
      order by c.created_at, c.id
      limit $6
    ),
    marked as (
      update messages m set read = $3 where m.id = any (array(select s.id from step s)) and m.read <> $3
    )
    select s.id, s.created_at as "createdAt" from step s order by s.created_at, s.id offset $6::int - 1`;

/**
 * Finds a page of a thread's messages, received and sent, with the bytes of the texts that each shows.
 *
 * $1 thread, $2 and $3 time and id of the cursor ('infinity' and '' before the first), $4 number of messages,
 * $5 maximum bytes of a text or of HTML.
 */
function pageOfEmails(name: string, beyond: '<' | '>', order: 'desc' | 'asc'): Statement {
  const range = (at: string, id: string) =>
    `(${at}, ${id}) ${beyond} ($2::timestamptz, $3::text) order by ${at} ${order}, ${id} ${order} limit $4`;
  const shown = (row: string) =>
    `least(coalesce(octet_length(${row}.text), 0), $5::int) + least(coalesce(octet_length(${row}.html), 0), $5::int)`;
  return statement(name)`
    select e.id, e.created_at as "createdAt", e.bytes from (
      (select m.id, m.created_at,
              ${shown('m')} + ${attachmentTextBytes('message_attachments a where a.message_id = m.id', 'a.filename')}
                + octet_length(concat(m.from_address, m.subject, m.message_id, m.in_reply_to, array_to_string(
                    m.to_addresses || m.cc_addresses || m.reply_to_addresses || m.reference_ids, ''))) as bytes
       from messages m where m.thread_id = $1 and ${range('m.created_at', 'm.id')})
      union all
      (select e.id, s.created_at,
              ${shown('e')} + ${attachmentTextBytes('email_attachments a where a.email_id = e.id', 'a.filename')}
                + octet_length(concat(e.from_address, e.subject, array_to_string(
                    e.to_addresses || e.cc_addresses || e.bcc_addresses || e.reply_to_addresses, '')))
       from inbox_sends s join emails e on e.id = s.email_id
       where s.thread_id = $1 and ${range('s.created_at', 's.email_id')})
    ) e
    order by e.created_at ${order}, e.id ${order}
    limit $4`;
}

export const emailsAfter = pageOfEmails('emails-of-thread-after', '<', 'desc');
export const emailsBefore = pageOfEmails('emails-of-thread-before', '>', 'asc');

/** The Message-IDs in a header of a sent message `e`. */
const idsOfHeader = (name: string): string => `
  array(select r[1] from json_each_text(e.headers) h, regexp_matches(h.value, '<([^<>\\s]+)>', 'g') r
        where lower(h.key collate "C") = '${name}')`;

/**
 * Reads messages of a thread, received and sent. A message without References uses its In-Reply-To (RFC
 * 5322, 3.6.4). If In-Reply-To has several ids, a sent message keeps every id, and a received message has
 * only the first.
 *
 * $1 thread, $2 ids, $3 maximum characters of a text or of HTML, $4 attachments of each message at most
 * (null: all). Returns the messages in any order.
 */
export const readThreadEmails = statement('read-thread-emails')`
    select m.id, 'inbound' as direction, m.from_address as "from", m.to_addresses as "to", m.cc_addresses as cc,
           '{}'::text[] as bcc, m.reply_to_addresses as "replyTo", m.subject, m.message_id as "messageId",
           coalesce(nullif(m.reference_ids, '{}'), array_remove(array[m.in_reply_to], null)) as "references",
           null as "providerMessageId", left(m.html, $3::int) as html, left(m.text, $3::int) as text, m.complete, m.read,
           m.created_at as "createdAt",
           (select coalesce(json_agg(json_build_object('id', a.id, 'filename', a.filename, 'size', a.size)
                                     order by a.position), '[]')
            from (select * from message_attachments where message_id = m.id order by position limit $4::int) a)
             as attachments
    from messages m
    where m.thread_id = $1 and m.id = any ($2::text[])
    union all
    select e.id, 'outbound', e.from_address, e.to_addresses, e.cc_addresses, e.bcc_addresses, e.reply_to_addresses, e.subject,
           null, coalesce(nullif(${idsOfHeader('references')}, '{}'), ${idsOfHeader('in-reply-to')}),
           e.provider_message_id, left(e.html, $3::int), left(e.text, $3::int), true, true, s.created_at,
           (select coalesce(json_agg(json_build_object('id', a.email_id || '.' || a.position, 'filename', a.filename,
                                                       'size', octet_length(a.content)) order by a.position), '[]')
            from (select * from email_attachments where email_id = e.id order by position limit $4::int) a)
    from inbox_sends s cross join lateral (select * from emails where id = s.email_id offset 0) e
    where s.thread_id = $1 and s.email_id = any ($2::text[])`;
