import { recipientKey } from '../../db/sql/event-ctes.ts';
import { statement } from '../../db/statement.ts';

/** The columns of a listed event. */
const COLUMNS = 'e.id, e.type, e.created_at, e.data, e.position';

/**
 * $3: the position before the range. $4: its last position. $5 and $6: since and until. $7: rows at most. The
 * time is in a form that `events_by_age` does not have, so that no plan uses that index.
 */
export const IN_RANGE = `e.position > $3::bigint and e.position <= $4::bigint
      and greatest(e.created_at, '-infinity') >= $5::timestamptz and greatest(e.created_at, '-infinity') < $6::timestamptz`;

/** The condition of the index `events_by_account`. Only statements with this condition use that index. */
export const hasPosition = (e: string): string => `coalesce(${e}.position, 0) > 0`;

/** The account in a form that `events_by_account` does not have, so no plan uses that index. */
const IS_OF_ACCOUNT = `greatest(e.account_id, '') = $1`;

/** The id of the message that an event row `e` is about; null unless the data begins with the id. */
export const emailIdOf = (e: string): string =>
  `case when starts_with(${e}.data, '{"email_id":"') then substr(${e}.data, 14, 29) end`;

/** A condition: the event `e` is about this message. Written as in the index `events_of_email`. */
export const isOfEmail = (emailId: string): string => `starts_with(e.data, '{"email_id":"')
      and (${emailIdOf('e')}) = ${emailId}`;

/** The order of a page: from the position $3 up, or from $4 down. */
type EventOrder = 'asc' | 'desc';

/**
 * A query for the events of account $1 with the types $2. Each type is read from its own part of the index,
 * so at most 13 times as many rows are read as the page has.
 */
export const byType = (order: EventOrder): string => `
    select ${COLUMNS}
    from unnest($2::text[]) t (type)
    cross join lateral (
      select ${COLUMNS} from events e
      where e.account_id = $1 and e.type = t.type and ${hasPosition('e')} and ${IN_RANGE}
      order by e.position ${order} limit $7
    ) e
    order by e.position ${order} limit $7`;

/** A query for the events of a message, $8. If $9 is not null, only events to this recipient. */
export const byEmail = (order: EventOrder): string => `
    select ${COLUMNS}
    from events e
    where ${isOfEmail('$8')} and ${IS_OF_ACCOUNT} and greatest(e.type, '') = any ($2::text[]) and ${IN_RANGE}
      and ($9::text is null or ${recipientKey('$1', '$9::text')} = any (e.recipients))
    order by e.position ${order} limit $7`;

/**
 * A query for the events to a recipient, $8. An index has first recipients, a table has all others. Both are
 * read by type, as in `byType`: an address may have a million events, and none of the type.
 */
export const byRecipient = (order: EventOrder): string => `
    select ${COLUMNS}
    from unnest($2::text[]) t (type)
    cross join lateral (
      (select ${COLUMNS} from events e
       where e.recipients is not null and e.recipients[1] = ${recipientKey('$1', '$8::text')} and e.type = t.type
         and ${IS_OF_ACCOUNT} and ${IN_RANGE}
       order by e.position ${order} limit $7)
      union all
      (select ${COLUMNS} from event_recipients r
       cross join lateral (select * from events where id = r.event_id offset 0) e
       where r.key = ${recipientKey('$1', '$8::text')} and r.type = t.type
         and r.position > $3::bigint and r.position <= $4::bigint and ${IS_OF_ACCOUNT} and ${IN_RANGE}
       order by r.position ${order} limit $7)
    ) e
    order by e.position ${order} limit $7`;

/**
 * Reads a page of events, the oldest first. A page ends early when the data of its events exceeds a limit of
 * bytes, but not before its first event.
 *
 * $1 to $7 and the following as in the query. Returns `isWhole` with each row: false when the page ended
 * early.
 *
 * @param bytesMax the parameter with the limit, behind those of the query
 */
function page(name: string, query: string, bytesMax: string) {
  return statement(name)`
    with found as materialized (${query}
    ),
    measured as (
      select f.*, sum(octet_length(f.data)) over (order by f.position) - octet_length(f.data) as bytes_before
      from found f
    )
    select m.id, m.type, m.created_at as "createdAt", m.data, m.position::text as position,
           (select max(bytes_before) < ${bytesMax}::bigint from measured) as "isWhole"
    from measured m
    where m.bytes_before < ${bytesMax}::bigint
    order by m.position`;
}

export const listEvents = page('list-events', byType('asc'), '$8');
export const listEventsOfEmail = page('list-events-of-email', byEmail('asc'), '$10');
export const listEventsOfRecipient = page('list-events-of-recipient', byRecipient('asc'), '$9');

/**
 * Finds positions around a time span. An event has its time before its position, and is committed within $3
 * seconds after its time. An event that a replay wrote back has no position. `behind` skips it: a range that
 * has no end could read all events of an account.
 *
 * $1 since, $2 until, $3 seconds. Returns a position before all events of the span, and a position behind;
 * null where none was found. The range then has no limit on that side.
 */
export const findPositions = statement('find-positions')`
    select (select e.position from events e where e.created_at <= $1::timestamptz - make_interval(secs => $3)
            order by e.created_at desc limit 1)::text as "before",
           (select later.position
            from (select e.position, e.created_at from events e
                  where e.created_at >= $2::timestamptz + make_interval(secs => $3)
                  order by e.created_at offset 0) later
            where later.position is not null
            order by later.created_at limit 1)::text as "behind"`;

/** $1 account, $2 event. Returns the event's position; no row when the event is in no list of the account. */
export const findPosition = statement('find-position')`
    select e.position::text as position from events e
    where e.id = $2 and greatest(e.account_id, '') = $1 and e.position is not null`;
