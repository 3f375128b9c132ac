import { LOW_WATER_MARK } from '../../db/sql/low-water-mark.ts';
import type { Statement } from '../../db/statement.ts';

/**
 * Finds webhooks with outstanding deliveries, in the order of their ids, and returns those whose first delivery is due
 * within the look-ahead: one index descent per webhook, whatever the backlog behind it.
 *
 * Begins at the start of the index. While an old snapshot keeps dead entries there, it reads all of them.
 *
 * $1 cursor (a webhook id, '' to begin), $2 webhooks per step, $3 look-ahead in seconds.
 * Returns webhook_id, mark_due_at and mark_id; on every row, if need be the only one and of no webhook, where the next
 * step begins (cursor; null: there is none).
 */
export const sweepWebhooks: Statement = {
  name: 'sweep-webhooks',
  text: `
    with recursive sweep (webhook_id, due_at, id, n) as (
      (select webhook_id, due_at, id, 1
       from deliveries
       where webhook_id > $1
       order by webhook_id, due_at, id
       limit 1)
      union all
      select next.webhook_id, next.due_at, next.id, sweep.n + 1
      from sweep
      cross join lateral (
        select d.webhook_id, d.due_at, d.id
        from deliveries d
        where d.webhook_id > sweep.webhook_id
        order by d.webhook_id, d.due_at, d.id
        limit 1
      ) next
      where sweep.n < $2
    )
    select step.cursor, first.webhook_id, ${LOW_WATER_MARK}
    from (select case when count(*) = $2 then max(webhook_id) end as cursor from sweep) step
    left join sweep first on first.due_at <= now() + make_interval(secs => $3)
    order by first.webhook_id`,
};
