import { statement } from '../../db/statement.ts';

/**
 * Reads a page of a webhook's attempts, the newest first.
 *
 * $1 webhook, $2 to $4 the last attempt of the page before: microseconds of its start since 1970, delivery
 * id, number (all null: the first page), $5 rows at most.
 *
 * The bound on `started_at` alone is for the planner: by the condition with `or`, it could not leave out
 * newer days of the log.
 *
 * @param wanted a condition of the attempts `a`
 */
const pageOf = (wanted: string): string => `
  select a.event_id as "eventId", a.type, a.attempt, a.started_at as "startedAt", a.duration_ms as "durationMs",
         a.status as "statusCode", a.error, a.answer, a.delivery_id::text as "deliveryId",
         (extract(epoch from a.started_at) * 1000000)::bigint::text as "startedUs"
  from attempts a
  where ${wanted}
    and a.started_at <= coalesce(timestamptz 'epoch' + $2::bigint * interval '1 microsecond', 'infinity')
    and ($2::bigint is null
         or (a.started_at, a.delivery_id, a.attempt)
            < (timestamptz 'epoch' + $2::bigint * interval '1 microsecond', $3::bigint, $4::smallint))
  order by a.started_at desc, a.delivery_id desc, a.attempt desc
  limit $5`;

/** Cost: as many rows as the page has, and one index descent for each day of the log. */
export const listAttempts = statement('list-attempts')`${pageOf('a.webhook_id = $1')}`;

/**
 * The attempts of an event, $6, at the webhook. `greatest(a.webhook_id, '')` is the webhook's id, written as
 * in the index `attempts_of_event_at_webhook`, so that Postgres uses this index (decision 0012).
 */
export const listAttemptsOfEvent = statement('list-attempts-of-event')`
    ${pageOf(`a.event_id = $6 and greatest(a.webhook_id, '') = $1`)}`;
