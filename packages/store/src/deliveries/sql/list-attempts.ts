import type { Statement } from '../../db/statement.ts';

/**
 * Reads a page of a webhook's attempts, the newest first. `source` has the attempts to choose from.
 *
 * $1 webhook, $2 to $4 the last attempt of the page before: microseconds of its start since 1970, delivery, number; all null
 * for the first page. $5 how many.
 */
const pageOf = (source: string): string => `
  select a.event_id, a.type, a.attempt, a.started_at, a.duration_ms, a.status, a.error, a.answer,
         a.delivery_id::text as delivery_id,
         (extract(epoch from a.started_at) * 1000000)::bigint::text as started_us
  from ${source} a
  where a.webhook_id = $1
    and a.started_at <= coalesce(timestamptz 'epoch' + $2::bigint * interval '1 microsecond', 'infinity')
    and ($2::bigint is null
         or (a.started_at, a.delivery_id, a.attempt)
            < (timestamptz 'epoch' + $2::bigint * interval '1 microsecond', $3::bigint, $4::smallint))
  order by a.started_at desc, a.delivery_id desc, a.attempt desc
  limit $5`;

/** Costs as many rows as the page has, on each day of the log one index descent. */
export const listAttempts: Statement = { name: 'list-attempts', text: pageOf('attempts') };

/** Of one event, $6. It has few attempts: they are found by its index, whatever the webhook has. */
export const listAttemptsOfEvent: Statement = {
  name: 'list-attempts-of-event',
  text: `with of_event as materialized (select * from attempts where event_id = $6) ${pageOf('of_event')}`,
};
