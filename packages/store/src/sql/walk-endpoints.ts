import type { Statement } from '../statement.ts';

/**
 * Looks at webhooks that have outstanding work, in the order of their ids, and lists those whose first row is due within the
 * look-ahead, each with what that row says: one index descent per webhook, whatever the backlog behind it.
 *
 * $1 cursor (a webhook id, '' to begin), $2 webhooks per step, $3 look-ahead in seconds, $4 seconds after which an attempt
 * under way counts as stuck.
 * Returns webhook_id, and of its first row whether it is in somebody's hands, whether its attempt is stuck, and, if it is
 * due, its place (due time and id); on every row, if need be the only one and of no webhook, where the next step begins
 * (null: there is none).
 */
export const walkEndpoints: Statement = {
  name: 'walk-endpoints',
  text: `
    with recursive walk (webhook_id, due_at, id, leased_until, taken_at, n) as (
      (select webhook_id, due_at, id, leased_until, taken_at, 1
       from deliveries
       where webhook_id > $1
       order by webhook_id, due_at, id
       limit 1)
      union all
      select next.webhook_id, next.due_at, next.id, next.leased_until, next.taken_at, walk.n + 1
      from walk
      cross join lateral (
        select d.webhook_id, d.due_at, d.id, d.leased_until, d.taken_at
        from deliveries d
        where d.webhook_id > walk.webhook_id
        order by d.webhook_id, d.due_at, d.id
        limit 1
      ) next
      where walk.n < $2
    )
    select step.cursor, first.webhook_id, coalesce(first.leased_until > now(), false) as held,
           coalesce(first.leased_until > now() and first.taken_at < now() - make_interval(secs => $4), false) as stuck,
           case when first.due_at <= now() then first.due_at end::text as front_due_at,
           case when first.due_at <= now() then first.id end as front_id
    from (select case when count(*) = $2 then max(webhook_id) end as cursor from walk) step
    left join walk first on first.due_at <= now() + make_interval(secs => $3)
    order by first.webhook_id`,
};
