import { LIMITS } from '@postrider/domain';
import { recipientKey } from '../../db/sql/event-ctes.ts';
import { statement } from '../../db/statement.ts';
import type { Statement } from '../../db/statement.ts';

/**
 * True for a message `m` unless its inbox was deleted. The rows of a deleted inbox stay until a relay deletes
 * them.
 */
export const INBOX_IS_THERE = '(m.inbox_id = any (array(select id from removed_inboxes))) is not true';

/** The subject of a message `m` for a list. A sender may write a subject of 10 MiB. */
export const SUBJECT = `left(m.subject, ${LIMITS.recordNameLength})`;

const SEARCH = `
  select m.id, m.account_id as "accountId", m.kind::text as kind, m.inbox_id as "inboxId", m.rule_id as "ruleId",
         m.status::text as status, m.held_reason as "heldReason", m.created_at as "receivedAt", m.size,
         m.from_address as "from", m.received_for as "receivedFor", ${SUBJECT} as subject
  from messages m
  where ${INBOX_IS_THERE}`;
const NEWEST = 'order by m.created_at desc, m.id desc limit $2';

/** $1 message, of any account. Returns no row when it is deleted. */
export const findMessageById = statement('find-message-by-id')`${SEARCH} and m.id = $1`;

/** $3 an account, or null for all. */
const OF_ACCOUNT_OR_ALL = '($3::text is null or m.account_id = $3)';

/** Finds the newest messages with a Message-ID. $1 the id without brackets, $2 messages at most. */
export const findMessagesByMessageId = statement('find-messages-by-id')`
    ${SEARCH} and m.message_id = $1 and ${OF_ACCOUNT_OR_ALL} ${NEWEST}`;

/**
 * The address of the sender, as the index `messages_by_plain_sender` has it. If mail was stored before the
 * column `sender` existed, only the ASCII letters of the address are in lower case.
 */
const SENDER = `left(coalesce(m.sender, lower(rtrim(substring(m.from_address collate "C" from '[^<]*$'), '>'))), 320)`;

/**
 * Finds the newest messages that an address sent or received. Mail of an inbox is found by the inbox. Mail of
 * a routing rule is found by its events, in accounts that have a rule for the address or its domain, or that
 * have the domain. The data of these events begins with `{"object":"message","id":"` and an id of 30
 * characters. A held message that was released has two events.
 *
 * $1 the address as `senderAddress` writes it, $2 messages at most, $3 an account, or null for all, $4 the
 * address as `inboundAddress` writes it, or null, $5 maximum number of messages read per inbox, and of events
 * read per account and type, $6 maximum number of messages read of the sender if $3 is an account, $7 a
 * regular expression for $1 in any case.
 */
export const findMessagesByAddress = statement('find-messages-by-address')`
    with sent as materialized (
      select m.id
      from (
        select m.id, m.account_id, m.created_at from messages m where ${SENDER} = $1 and ${INBOX_IS_THERE}
        order by m.created_at desc, m.id desc limit case when $3::text is null then $2::bigint else $6::bigint end
      ) m
      where ${OF_ACCOUNT_OR_ALL}
      order by m.created_at desc, m.id desc limit $2
    ),
    boxes as materialized (
      select i.id, i.address, i.account_id from inboxes i
      where i.id = any (array(
        select a.id from inboxes a where a.address = $4
        union all
        select p.id from inboxes p where p.postmaster and starts_with($1, 'postmaster@')))
    ),
    of_inboxes as materialized (
      select n.id
      from boxes i
      cross join unnest(enum_range(null::message_status)) s (status)
      cross join lateral (
        select m.id, m.created_at, m.received_for from messages m
        where m.inbox_id = i.id and m.status = s.status
        order by m.created_at desc, m.id desc limit $5
      ) n
      where ($3::text is null or i.account_id = $3)
        and (i.address = $1 or exists (select from unnest(n.received_for) r (address) where normalize(r.address) ~ $7))
      order by n.created_at desc, n.id desc limit $2
    ),
    receivers as materialized (
      select r.account_id as id from inbound_routes r where r.match = any (array[$4, '*@' || split_part($1, '@', -1)])
      union
      select d.account_id from domains d where d.name = split_part($1, '@', -1)
    ),
    of_rules as materialized (
      select substr(v.data, 27, 30) as id
      from receivers a
      cross join unnest('{message.received,message.held}'::text[]) t (type)
      cross join lateral (
        (select e.data, e.position from events e
         where e.recipients is not null and e.recipients[1] = ${recipientKey('a.id', '$1')} and e.type = t.type
           and e.position is not null
         order by e.position desc limit $5)
        union all
        (select e.data, r.position from event_recipients r
         cross join lateral (select data from events where id = r.event_id offset 0) e
         where r.key = ${recipientKey('a.id', '$1')} and r.type = t.type
         order by r.position desc limit $5)
      ) v
      where $3::text is null or a.id = $3
      order by v.position desc limit $2 * 2
    )
    ${SEARCH} and m.id = any (array(select id from sent union select id from of_inboxes union select id from of_rules))
    ${NEWEST}`;

/**
 * The bytes of texts of a message's attachments. A list shows the first `LIMITS.recordEntries`.
 *
 * @param own the attachments `a` of the message @param shown the texts of each
 */
export const attachmentTextBytes = (own: string, ...shown: readonly string[]): string => `
    (select coalesce(sum(f.bytes), 0)::int
     from (select octet_length(concat(${shown.join(', ')})) as bytes from ${own}
           order by a.position limit ${LIMITS.recordEntries}) f)`;

const cutName = (name: string): string => `left(${name}, ${LIMITS.recordNameLength})`;
const cutList = (list: string): string => `${list}[:${LIMITS.recordEntries}]`;

/** The bytes of the texts that a list reads of a message `m`. Its record may have fewer. */
const RECORD_BYTES = `
    least(coalesce(octet_length(m.text), 0), ${LIMITS.recordTextBytes})
      + ${attachmentTextBytes('message_attachments a where a.message_id = m.id', ...['a.filename', 'a.content_type', 'a.content_id'].map(cutName))}
      + octet_length(concat(m.from_address, ${['m.subject', 'm.message_id', 'm.in_reply_to'].map(cutName).join(', ')},
          array_to_string(${['m.to_addresses', 'm.cc_addresses', 'm.reply_to_addresses', 'm.received_for'].map(cutList).join(' || ')}, '')))`;

/**
 * A page of messages in an account or an inbox, each with the bytes of its record. Each status is one index
 * scan that stops at the end of the page.
 *
 * $1 account, $2 kind, $3 statuses, $4 and $5 time and id of the cursor, $6 number of messages, $7 the inbox
 * (only for a page of an inbox).
 */
function pageOfMessages(
  name: string,
  ofReader: string,
  { beyond, order }: typeof AFTER | typeof BEFORE,
): Statement {
  return statement(name)`
    select p.id, (select ${RECORD_BYTES} from messages m where m.id = p.id) as bytes
    from (
      select p.id, p.created_at
      from unnest($3::message_status[]) s (status)
      cross join lateral (
        select m.id, m.created_at from messages m
        where ${ofReader} and m.status = s.status and (m.created_at, m.id) ${beyond} ($4::timestamptz, $5::text)
        order by m.created_at ${order}, m.id ${order}
        limit $6
      ) p
      order by p.created_at ${order}, p.id ${order}
      limit $6
    ) p
    order by p.created_at ${order}, p.id ${order}`;
}

const OF_ACCOUNT = `m.account_id = $1 and m.kind = $2::key_kind and ${INBOX_IS_THERE}`;
/** All messages of an inbox have its account and kind. */
const OF_INBOX = `
  m.inbox_id = (select i.id from inboxes i where i.id = $7 and i.account_id = $1 and i.kind = $2::key_kind)`;

/** The page after a cursor, in a list that begins with the newest entry. */
export const AFTER = { beyond: '<', order: 'desc' } as const;
/** The page before a cursor. It is read from the cursor upwards, so the oldest entry comes first. */
export const BEFORE = { beyond: '>', order: 'asc' } as const;

export const accountMessagesAfter = pageOfMessages('account-messages-after', OF_ACCOUNT, AFTER);
export const accountMessagesBefore = pageOfMessages('account-messages-before', OF_ACCOUNT, BEFORE);
export const inboxMessagesAfter = pageOfMessages('inbox-messages-after', OF_INBOX, AFTER);
export const inboxMessagesBefore = pageOfMessages('inbox-messages-before', OF_INBOX, BEFORE);

/**
 * Reads the fields of each message's record, shortened: a message may have 10 MiB.
 *
 * $1 messages, $2 maximum characters of a text, $3 entries of a list, $4 characters of a name. Returns a row
 * for each message that exists, in any order.
 */
export const readRecords = statement('read-records')`
    select m.id, m.account_id as "accountId", m.kind::text as kind, m.status::text as status, m.inbox_id as "inboxId",
           m.thread_id as "threadId", m.rule_id as "ruleId", left(m.message_id, $4::int) as "messageId",
           left(m.in_reply_to, $4::int) as "inReplyTo", m.from_address as "from", m.to_addresses[:$3::int] as "to",
           m.cc_addresses[:$3::int] as cc, m.reply_to_addresses[:$3::int] as "replyTo",
           m.received_for[:$3::int] as "receivedFor", left(m.subject, $4::int) as subject, left(m.text, $2::int) as text,
           m.created_at as "receivedAt", m.size,
           json_build_object('spf', m.spf, 'dkim', m.dkim, 'dmarc', m.dmarc) as auth, m.automatic, m.complete,
           m.held_reason as "heldReason",
           (select coalesce(json_agg(json_build_object('id', a.id, 'filename', a.filename, 'contentType', a.content_type,
                                                       'contentId', a.content_id, 'size', a.size) order by a.position), '[]')
            from (select a.id, left(a.filename, $4::int) as filename, left(a.content_type, $4::int) as content_type,
                         left(a.content_id, $4::int) as content_id, a.size, a.position
                  from message_attachments a
                  where a.message_id = m.id
                  order by a.position
                  limit $3::int) a) as attachments
    from messages m
    where m.id = any ($1::text[])`;

/** Reads the text and the HTML of a message. $1 message, $2 maximum characters of each. */
export const readBodies = statement('read-bodies')`
    select left(m.text, $2::int) as text, left(m.html, $2::int) as html from messages m where m.id = $1`;

/** $2 in the statements below: `text` or `html`. */
const BODY = `case $2::text when 'html' then m.html else m.text end`;

/** The bytes of a body in UTF-8, or null without a body. Postgres does not read the body. $1 message. */
export const sizeOfBody = statement('size-of-body')`
    select octet_length(${BODY}) as size from messages m where m.id = $1 and ${INBOX_IS_THERE}`;

/**
 * Reads some bytes of a body in UTF-8. $1 message, $3 the first byte, counted from 1, $4 maximum number of
 * bytes.
 *
 * Postgres decompresses the whole body each time. It does not count characters: that takes twice as long.
 */
export const readBodyPiece = statement('read-body-piece')`
    select substring(convert_to(${BODY}, 'UTF8') from $3::int for $4::int) as piece
    from messages m where m.id = $1 and ${INBOX_IS_THERE}`;
