import { statement } from '../../db/statement.ts';
import { fateAt, isOfRule, LOG, SHOWN_FATE, sinceEvent } from './webhook-events.ts';

/**
 * Reads events of any account. An event that retention has dropped is read from a dead letter's copy.
 *
 * In this file, `offset 0` keeps Postgres from turning a lateral subquery into another join.
 *
 * $1 events. Returns no row for an event that is neither stored nor in a dead letter.
 */
const FOUND = `
    found as materialized (
      select e.id, e.account_id, e.type, e.created_at, e.data, false as is_copy
      from events e where e.id = any ($1::text[])
      union all
      select g.id, l.account_id, l.type, l.event_created_at, l.data, true
      from unnest($1::text[]) g (id)
      cross join lateral (select * from dead_letters where event_id = g.id limit 1 offset 0) l
      where (select true from events e where e.id = g.id) is null
    )`;

/** $1 events. Returns those that exist, in any order. */
export const findEvents = statement('find-events')`
    with ${FOUND}
    select f.id, f.account_id as "accountId", f.type, f.created_at as "createdAt", f.data, f.is_copy as "isCopy"
    from found f`;

/**
 * The webhooks that the event `e` was attempted at. Each step looks for the next webhook. So the query reads
 * one attempt for each webhook, however many it has.
 */
const TRIED = `
          with recursive tried (webhook_id) as (
            select ''
            union all
            select (
              select greatest(a.webhook_id, '') from attempts a
              where a.event_id = e.id and greatest(a.webhook_id, '') > t.webhook_id
                and ${sinceEvent('e.created_at')}
              order by greatest(a.webhook_id, '') limit 1
            )
            from tried t where t.webhook_id is not null
          )
          select webhook_id from tried where webhook_id > ''`;

/**
 * Reads what became of events at webhooks. Included are the webhooks that have a row about the event, and
 * those that get such events now and existed when it was recorded. A webhook that was deleted before its
 * first attempt left no row. The branches of the union write the id as `greatest(id, '')`, which no index by
 * the webhook alone has. Otherwise Postgres may read a whole index for its order. The domains of an event are
 * found once, in a subquery.
 *
 * $1 events. Returns a row for each event and webhook. The endpoint is null when the webhook is deleted.
 */
export const findFates = statement('find-fates')`
    with ${LOG}, ${FOUND},
    involved as materialized (
      select e.id as event_id, i.webhook_id
      from found e
      cross join lateral (
        select greatest(d.webhook_id, '') as webhook_id from deliveries d where d.event_id = e.id
        union
        select greatest(l.webhook_id, '') from dead_letters l where l.event_id = e.id
        union
        select t.webhook_id from (${TRIED}) t
        union
        select greatest(w.id, '') from webhooks w
        where w.account_id = e.account_id and w.removed_at is null and w.created_at <= e.created_at
          and (w.events = '{}' or e.type = any (w.events)) and ${isOfRule(`nullif(split_part(w.subject, '/', 3), '')`)}
          and (w.domains is null or w.domains && (select domains_of_events(array[e.data])))
      ) i
    )
    select i.event_id as "eventId", i.webhook_id as "webhookId", ${SHOWN_FATE},
           w.endpoint, w.subject, w.failing_since as "failingSince"
    from involved i
    cross join lateral (select * from found where id = i.event_id offset 0) e
    ${fateAt('i.webhook_id')}
    left join lateral (
      select endpoint, subject, failing_since from webhooks where id = i.webhook_id and removed_at is null offset 0
    ) w on true`;

/**
 * Reads the newest attempts of an event. $1 event, $2 its time, $3 rows at most. The number of an attempt
 * starts again with each delivery.
 */
export const findAttempts = statement('find-attempts')`
    select a.webhook_id as "webhookId", a.delivery_id::text as "deliveryId", a.attempt, a.started_at as "startedAt",
           a.duration_ms as "durationMs", a.status as "statusCode", a.error, a.answer
    from attempts a
    where a.event_id = $1 and ${sinceEvent('$2::timestamptz')}
    order by a.started_at desc, a.delivery_id desc, a.attempt desc
    limit $3`;

/** $1 event. Returns its dead letters, at most one for each webhook. */
export const findDeadLetters = statement('find-dead-letters')`
    select l.id, l.webhook_id as "webhookId", l.attempts, l.reason::text as reason, l.last_error as "lastError",
           l.status_code as "statusCode", l.created_at as "createdAt"
    from dead_letters l where l.event_id = $1`;
