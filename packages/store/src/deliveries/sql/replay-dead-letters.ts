import type { DeadLetterReason, EventType } from '@postrider/domain';
import { statement } from '../../db/statement.ts';
import type { Statement } from '../../db/statement.ts';

/**
 * The CTEs that delete dead letters and write their events back, if retention has dropped them. Such an event
 * keeps its id. It has no position, so it is in no list of events: it would be a new entry with an old time.
 *
 * The events are written in the order of their ids, because two webhooks may replay the same events. The
 * update on conflict changes only the row's version. It locks an event that retention may be about to drop.
 * Retention compares the version, so it learns of the new delivery.
 *
 * @param chosen selects the ids of the dead letters
 */
const takeLetters = (chosen: string): string => `
    letters as (
      delete from dead_letters d where d.id = any (array(${chosen}))
      returning d.id, d.created_at, d.webhook_id, d.event_id, d.account_id, d.type, d.event_created_at, d.data,
                d.reason, d.last_error, d.status_code
    ),
    restored as (
      insert into events (id, account_id, type, created_at, data, position)
      select distinct on (event_id) event_id, account_id, type, event_created_at, data, null::bigint
      from letters order by event_id
      on conflict (id) do update set type = excluded.type
    )`;

/**
 * Replays a dead letter: removes it and queues its event at once, with a fresh set of attempts.
 *
 * Guarantee: of any number of concurrent replays, exactly one returns a row. The webhook is locked first. A
 * DELETE that is running is waited for, and then there is nothing to replay. A webhook that is marked as
 * removed has nothing to replay.
 *
 * The delivery keeps the last status that the endpoint answered. If the delivery becomes a dead letter again,
 * that letter shows the status, too (contract 2.4).
 *
 * $1 account, $2 dead-letter id. Returns the letter; no row when it or its webhook is gone.
 */
export const replayDeadLetter = statement('replay-dead-letter')`
    with replayable as materialized (
      select w.id
      from webhooks w
      where w.account_id = $1 and w.removed_at is null
        and w.id = (select d.webhook_id from dead_letters d where d.id = $2 and d.account_id = $1)
      for key share of w
    ),${takeLetters('select $2::text from replayable')},
    queued as (
      insert into deliveries (event_id, webhook_id, last_status) select event_id, webhook_id, status_code from letters
    )
    select id, webhook_id as "webhookId", event_id as "eventId", reason, last_error as "lastError",
           created_at as "createdAt"
    from letters`;

/**
 * Filters of a replay, beside its webhook and its time: columns of the index
 * `dead_letters_of_webhook_by_age`, each with its value. `letterFilters` makes them.
 */
export type ReplayFilters = {
  readonly type?: EventType;
  readonly reason?: DeadLetterReason;
};

/**
 * The condition of dead letters `d`: they stand before time $3 and id $4, and were made at time $6 or later
 * and before time $7.
 *
 * @param from the number of the first filter's parameter
 */
function matching(filters: ReplayFilters, from: number): string {
  const narrowed = Object.keys(filters)
    .map((column, index) => `and d.${column} = $${index + from}`)
    .join(' ');
  return `(d.created_at, d.id) < ($3::timestamptz, $4::text)
        and d.created_at >= $6::timestamptz and d.created_at < $7::timestamptz ${narrowed}`;
}

function nameOf(name: string, filters: ReplayFilters): string {
  return [name, ...Object.keys(filters)].join('-by-');
}

/** The CTEs that take at most $5 dead letters of webhook $2 of account $1 and queue their events. */
function replayed(wanted: string, insertDeliveries: string): string {
  return `
    replayable as materialized (
      select w.id from webhooks w where w.id = $2 and w.account_id = $1 and w.removed_at is null for key share of w
    ),
    chosen as materialized (
      select d.id from dead_letters d
      where d.webhook_id = (select id from replayable) and ${wanted}
      order by d.created_at, d.id
      limit $5
      for update of d skip locked
    ),${takeLetters('select id from chosen')},
    queued as (${insertDeliveries}
      returning id
    )`;
}

/**
 * Replays many dead letters of a webhook, the oldest first, each as `replayDeadLetter` does it.
 *
 * Guarantee: each letter is replayed once. Concurrent replays take different letters: a letter that another
 * one has locked is skipped, so nothing waits.
 *
 * Cost: rows are read only for what is replayed. Letters of another type or reason are skipped inside the
 * index, and the remaining ones are counted there. Each set of filters has its own statement: for a condition
 * that may be absent, Postgres would read the row.
 *
 * $1 account, $2 webhook, $5 letters at most. The letters stand before time $3 and id $4, and were made at
 * time $6 or later and before time $7. $8 and following: a value for each filter. Returns how many letters
 * were replayed, how many matching ones remain, and the times of the oldest and the newest that were
 * replayed; no row when the account has no such webhook.
 */
export function replayDeadLetters(filters: ReplayFilters): Statement {
  const wanted = matching(filters, 8);
  return statement(nameOf('replay-dead-letters', filters))`
    with ${replayed(
      wanted,
      `
      insert into deliveries (event_id, webhook_id, last_status)
      select event_id, webhook_id, status_code from letters order by created_at, id`,
    )}
    select (select count(*) from queued)::int as replayed,
           ((select count(*) from dead_letters d where d.webhook_id = replayable.id and ${wanted})
             - (select count(*) from letters))::int as remaining,
           (select min(created_at) from letters) as oldest, (select max(created_at) from letters) as newest
    from replayable`;
}

/**
 * Replays dead letters as above, as a step of a recovery. The due times are spread at the recovery's rate.
 *
 * $1 to $7 as above, $8 recovery, $9 its rate in deliveries per second, $10 and following: a value for each
 * filter. Returns how many were queued, and whether these were the last: no other letter matches, not even a
 * locked one.
 */
export function recoverDeadLetters(filters: ReplayFilters): Statement {
  const wanted = matching(filters, 10);
  return statement(nameOf('recover-dead-letters', filters))`
    with ${replayed(
      wanted,
      `
      insert into deliveries (event_id, webhook_id, last_status, recovery_id, due_at)
      select event_id, webhook_id, status_code, $8,
             (select clock_timestamp()) + make_interval(secs => (row_number() over w - 1) / $9::float8)
      from letters window w as (order by created_at, id) order by created_at, id`,
    )}
    select (select count(*) from queued)::int as queued,
           (select true from dead_letters d
            where d.webhook_id = (select id from replayable) and ${wanted} and d.id <> all (array(select id from letters))
            order by d.created_at, d.id limit 1) is null as "isLast"`;
}

/**
 * Counts the letters that a replay would take. $1 to $7 as above, $8 and following: a value for each filter.
 */
export function countReplayable(filters: ReplayFilters): Statement {
  return statement(nameOf('count-dead-letters', filters))`
    select count(*)::int as matched, min(x.created_at) as oldest, max(x.created_at) as newest
    from (
      select d.created_at from dead_letters d
      where d.webhook_id = (select w.id from webhooks w where w.id = $2 and w.account_id = $1 and w.removed_at is null)
        and ${matching(filters, 8)}
      order by d.created_at, d.id limit $5
    ) x`;
}
