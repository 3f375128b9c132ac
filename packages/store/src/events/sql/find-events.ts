import { recipientKey } from '../../db/sql/event-ctes.ts';
import { statement } from '../../db/statement.ts';
import type { Statement } from '../../db/statement.ts';
import { isOfAddress } from '../../mail/sql/find-emails.ts';
import { emailIdOf, isOfEmail } from './list-events.ts';

/**
 * A condition: the event `e` is about this received message. Written as in the index `events_of_message`: the
 * id begins at character 27 and has 30 characters.
 */
const isOfMessage = (messageId: string): string =>
  `starts_with(e.data, '{"object":"message","id":"') and substr(e.data, 27, 30) = ${messageId}`;

/**
 * $2 types, $8 account or null, $3 and $4 the positions after and up to which, $5 and $6 the times from and
 * before which.
 *
 * For conditions inside of coalesce, Postgres uses no index, and expects every second row to fit. Without
 * coalesce it expects hardly any, and reads and sorts all events of an address instead of the newest.
 */
const FITS = `e.position is not null and e.position > $3::bigint and e.position <= $4::bigint
        and coalesce(e.type = any ($2::text[]) and ($8::text is null or e.account_id = $8)
                     and e.created_at >= $5::timestamptz and e.created_at < $6::timestamptz, false)`;

/**
 * Finds the newest events of any account.
 *
 * $1 ids of emails, of messages or of accounts, each once; $2 to $6 and $8 as in `FITS`, $7 rows at most.
 * Returns the events without their `data`.
 *
 * @param found a query that reads the newest $7 rows of `events` for one id, `g.value`; or $7 rows of each
 * type
 */
function find(name: string, found: string): Statement {
  return statement(name)`
    select n.id, n.account_id as "accountId", n.type, n.created_at as "createdAt",
           n.position::text as position, ${emailIdOf('n')} as "emailId"
    from (
      select f.*
      from unnest($1::text[]) g (value) cross join lateral (${found}) f
      order by f.position desc limit $7
    ) n`;
}

export const findEventsOfEmails = find(
  'find-events-of-emails',
  `select * from events e where ${isOfEmail('g.value')} and ${FITS} order by e.position desc limit $7`,
);
/** A message has one or two events. */
export const findEventsOfMessages = find(
  'find-events-of-messages',
  `select * from events e where ${isOfMessage('g.value')} and ${FITS} order by e.position desc limit $7`,
);
/**
 * $1 accounts, $9 the recipient. Reads the newest events of each type, because the indexes name the type
 * before the position. `events` has an event's first recipient, and `event_recipients` has the further ones.
 */
export const findEventsOfRecipient = find(
  'find-events-of-recipient',
  `select u.* from unnest($2::text[]) t (type)
   cross join lateral (
     (select e.* from events e
      where e.recipients is not null and e.recipients[1] = ${recipientKey('g.value', '$9::text')} and e.type = t.type and ${FITS}
      order by e.position desc limit $7)
     union all
     (select e.* from event_recipients r
      cross join lateral (select * from events where id = r.event_id offset 0) e
      where r.key = ${recipientKey('g.value', '$9::text')} and r.type = t.type
        and r.position > $3::bigint and r.position <= $4::bigint and ${FITS}
      order by r.position desc limit $7)
   ) u`,
);

/**
 * Finds the accounts that may have events about an address: they sent it mail, suppress it, or receive its
 * mail. $1 the address, $2 the maximum number of messages to read, $3 the address as `inboundAddress` writes
 * it, or null. Returns at most $2 accounts.
 */
export const findAccountsOfAddress = statement('find-accounts-of-address')`
    select e.account_id as id
    from (select r.email_id from email_recipients r where ${isOfAddress('$1')} order by r.email_id desc limit $2) m
    cross join lateral (select account_id from emails where id = m.email_id offset 0) e
    union
    (select s.account_id from suppressions s where s.address = $1 limit $2)
    union
    select i.account_id from inboxes i where i.address = $3
    union
    select i.account_id from inboxes i where i.postmaster and starts_with($1, 'postmaster@')
    union
    select r.account_id from inbound_routes r where r.match = any (array[$3, '*@' || split_part($1, '@', -1)])
    union
    select d.account_id from domains d where d.name = split_part($1, '@', -1)
    limit $2`;

/** $1 sent or received messages. Returns the newest event of each that has one. */
export const findNewestEvents = statement('find-newest-events')`
    select g.value as "mailId", e.id, e.type
    from unnest($1::text[]) g (value)
    cross join lateral (
      (select e.id, e.type, e.position from events e
       where ${isOfEmail('g.value')} and e.position is not null order by e.position desc limit 1)
      union all
      (select e.id, e.type, e.position from events e
       where ${isOfMessage('g.value')} and e.position is not null order by e.position desc limit 1)
      order by position desc limit 1
    ) e`;
