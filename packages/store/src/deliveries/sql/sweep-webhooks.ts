import { statement } from '../../db/statement.ts';
import { LOW_WATER_MARK } from './low-water-mark.ts';

/** The columns that a sweep reports of a webhook, given its first outstanding delivery `first`. */
const FOUND = `first.webhook_id as "webhookId", (extract(epoch from first.due_at - now()) * 1000)::float8 as "dueInMs",
           ${LOW_WATER_MARK}`;

/**
 * Finds the next webhooks with outstanding deliveries, in the order of their ids. Returns those whose first
 * delivery is due within the look-ahead.
 *
 * Cost: one index descent per webhook, whatever its backlog. It begins at each webhook's first index entry.
 * While an old snapshot keeps dead entries there, it reads each of these. `greatest(id, 0)` is the id, in the
 * form of the index (decision 0012).
 *
 * $1 cursor (a webhook id; '' to begin), $2 webhooks per step, $3 look-ahead in seconds.
 * Every row has the cursor of the next step; null: this step was the last. When no webhook is found, one row
 * comes with the cursor alone.
 */
export const sweepWebhooks = statement('sweep-webhooks')`
    with recursive sweep (webhook_id, due_at, id, n) as (
      (select webhook_id, due_at, id, 1
       from deliveries
       where webhook_id > $1
       order by webhook_id, due_at, greatest(id, 0)
       limit 1)
      union all
      select next.webhook_id, next.due_at, next.id, sweep.n + 1
      from sweep
      cross join lateral (
        select d.webhook_id, d.due_at, d.id
        from deliveries d
        where d.webhook_id > sweep.webhook_id
        order by d.webhook_id, d.due_at, greatest(d.id, 0)
        limit 1
      ) next
      where sweep.n < $2
    )
    select step.next_cursor as cursor, ${FOUND}
    from (select case when count(*) = $2 then max(webhook_id) end as next_cursor from sweep) step
    left join sweep first on first.due_at <= now() + make_interval(secs => $3)
    order by first.webhook_id`;

/** Does the same for the webhook $1, with the look-ahead $2 in seconds. Returns one row or none. */
export const sweepWebhook = statement('sweep-webhook')`
    select ${FOUND}
    from (select webhook_id, due_at, id from deliveries where webhook_id = $1 order by due_at, greatest(id, 0) limit 1) first
    where first.due_at <= now() + make_interval(secs => $2)`;

/** Finds the webhook after $1 (a webhook id; '' to begin), with or without deliveries. */
export const nextWebhook = statement('next-webhook')`
    select id from webhooks where id > $1 order by id limit 1`;
