import type { Statement } from '../statement.ts';

/**
 * Lists webhooks that have outstanding work, in the order of their ids, each with what its first row says: one index
 * descent per webhook, whatever the backlog behind it.
 *
 * $1 cursor (a webhook id, '' to begin), $2 webhooks per step, $3 look-ahead in seconds, $4 seconds after which an attempt
 * under way counts as stuck.
 * Returns webhook_id, and of its first row whether it is due within the look-ahead, whether it is in somebody's hands,
 * whether its attempt is stuck, and, if it is due, its place (due time and id).
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
    select webhook_id, due_at <= now() + make_interval(secs => $3) as soon, coalesce(leased_until > now(), false) as held,
           coalesce(leased_until > now() and taken_at < now() - make_interval(secs => $4), false) as stuck,
           case when due_at <= now() then due_at end::text as front_due_at,
           case when due_at <= now() then id end as front_id
    from walk
    order by webhook_id`,
};
