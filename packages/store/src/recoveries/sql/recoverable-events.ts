import { byType } from '../../events/sql/list-events.ts';
import { fateAt, isTaken, LOG } from '../../events/sql/webhook-events.ts';
import { statement } from '../../db/statement.ts';

/** What a recovery sends: for each value, its parameter in the statement, such as `$8`. */
interface Wanted {
  readonly webhook: string;
  /** The webhook's routing rule, or null. */
  readonly rule: string;
  /** The webhook's domains, or null. */
  readonly domains: string;
  /** True: only undelivered events are wanted. */
  readonly undelivered: string;
  /** The moment of the count. */
  readonly asOf: string;
}

/**
 * A condition: the recovery sends the event `e`, which is in the state `s` and which the webhook takes. It
 * leaves out outstanding deliveries, and events that were attempted or given up after the count. So a
 * recovery never sends an event twice.
 */
function isWanted({ undelivered, asOf }: Wanted): string {
  return `s.delivery <> 'queued' and (not ${undelivered}::boolean or s.delivery in ('dead_letter', 'dropped'))
      and (s.last_change_at is null or s.last_change_at <= ${asOf}::timestamptz)`;
}

/** A condition: the event is left out because its attempts are no longer logged. */
function isUnknown({ undelivered }: Wanted): string {
  return `${undelivered}::boolean and s.delivery = 'unknown'`;
}

const COUNTED: Wanted = { webhook: '$8', rule: '$9', domains: '$10', undelivered: '$11', asOf: '$12' };

/**
 * Counts the events of one page that a recovery would send.
 *
 * $1 account, $2 types, $3 the position before the page, $4 the last position of the range, $5 and $6 since
 * and until, $7 events read at most, $8 webhook, $9 its routing rule or null, $10 its domains or null,
 * $11 whether only undelivered events count, $12 the moment of the count. Returns one row: the number of
 * events read and the position of the last one, then the counts.
 */
export const countRecoverable = statement('count-recoverable')`
    with ${LOG},
    found as materialized (${byType('asc')}
    ),
    counts as (
      select (count(*) filter (where ${isWanted(COUNTED)}))::int as matched,
             (count(*) filter (where ${isWanted(COUNTED)} and s.dead_letter is not null))::int as letters,
             (count(*) filter (where ${isUnknown(COUNTED)}))::int as unknown,
             min(e.created_at) filter (where ${isWanted(COUNTED)}) as oldest,
             max(e.created_at) filter (where ${isWanted(COUNTED)}) as newest
      from found e ${fateAt(COUNTED.webhook)}
      where ${isTaken(COUNTED.rule, COUNTED.domains)}
    )
    select t.found, t."foundTo", c.matched, c.letters as "deadLetters", c.unknown, c.oldest, c.newest
    from (select count(*)::int as found, max(position)::text as "foundTo" from found) t, counts c`;

/**
 * Finds the next events of a recovery, the oldest first.
 *
 * $1 to $12 as above, $13 events returned at most. Returns each with its position, beside the number of
 * events read and the position of the last one. If no event fits, one row has only this number and position.
 */
export const findRecoverable = statement('find-recoverable')`
    with ${LOG},
    found as materialized (${byType('asc')}
    ),
    fitting as (
      select e.id, e.position
      from found e ${fateAt(COUNTED.webhook)}
      where ${isTaken(COUNTED.rule, COUNTED.domains)} and ${isWanted(COUNTED)}
      order by e.position
      limit $13
    )
    select t.found, t."foundTo", f.id, f.position::text as position
    from (select count(*)::int as found, max(position)::text as "foundTo" from found) t
    left join fitting f on true
    order by f.position`;

const QUEUED: Wanted = { webhook: '$3', rule: '$4', domains: '$5', undelivered: '$6', asOf: '$7' };

/**
 * Queues events again, those that are still wanted under the locks, and removes their dead letters. Their due
 * times are spread at the rate of the recovery, so a fresh event waits behind few of them. A delivery keeps
 * the last status of its dead letter, as after a replay. The account is compared in a form that no index has,
 * so Postgres finds the events by id.
 *
 * $1 account, $2 events, $3 to $7 as $8 to $12 above, $8 recovery, $9 its rate. Returns how many were queued.
 */
export const queueRecovered = statement('queue-recovered')`
    with ${LOG},
    found as materialized (
      select * from events where id = any ($2::text[]) and greatest(account_id, '') = $1
    ),
    wanted as materialized (
      select e.id, s.dead_letter, row_number() over (order by e.position) - 1 as place
      from found e ${fateAt(QUEUED.webhook)}
      where ${isTaken(QUEUED.rule, QUEUED.domains)} and ${isWanted(QUEUED)}
    ),
    letters as (
      delete from dead_letters where id = any (array(select dead_letter from wanted))
      returning id, status_code
    ),
    queued as (
      insert into deliveries (event_id, webhook_id, recovery_id, last_status, due_at)
      select w.id, $3, $8, l.status_code, (select clock_timestamp()) + make_interval(secs => w.place / $9::float8)
      from wanted w left join letters l on l.id = w.dead_letter order by w.place
      returning id
    )
    select count(*)::int as queued from queued`;
