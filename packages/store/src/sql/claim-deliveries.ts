import type { Statement } from '../statement.ts';

/**
 * Leases deliveries that are due soon, fairly over webhooks.
 *
 * Guarantee: of each webhook at most its room's worth of rows is in somebody's hands, because the rows already
 * leased count against the room; rows are taken round-robin over the webhooks, those asked for first being served
 * first; two relays never get the same row; a row whose lease ran out is leased again. The commit may be lost with a
 * crash of Postgres: then the row is simply free, and the job that was made for it finds its claim or is stale.
 *
 * $1 webhook ids, $2 room of each, $3 look-ahead in seconds, $4 rows at the most, $5 room of a failing webhook,
 * $6 lease in seconds (it begins when the row is due), $7 seconds after which an attempt under way counts as stuck.
 */
export const claimDeliveries: Statement = {
  name: 'claim-deliveries',
  text: `
    with asked as materialized (
      select a.webhook_id,
             w.failing_since is not null as failing,
             case when w.failing_since is null then a.room else least(a.room, $5::int) end as room,
             a.place
      from unnest($1::text[], $2::int[]) with ordinality a (webhook_id, room, place)
      join webhooks w on w.id = a.webhook_id
    ),
    picked as materialized (
      select k.id, k.rank, k.in_flight, k.stuck, a.failing
      from asked a
      cross join lateral (
        select x.id, x.leased_until,
               row_number() over (order by x.due_at, x.id) as rank,
               count(*) filter (where x.leased_until > now()) over () as in_flight,
               coalesce(bool_or(x.leased_until > now()
                 and x.taken_at < now() - make_interval(secs => $7)) over (), false) as stuck
        from (
          select d.id, d.due_at, d.leased_until, d.taken_at
          from deliveries d
          where d.webhook_id = a.webhook_id and d.due_at <= now() + make_interval(secs => $3)
          order by d.due_at, d.id
          limit a.room
        ) x
      ) k
      where k.leased_until is null or k.leased_until <= now()
      order by k.rank, a.place
      limit $4
    ),
    mine as materialized (
      select d.id, p.in_flight, p.stuck, p.failing, d.leased_until is not null as lapsed
      from deliveries d
      join picked p on p.id = d.id
      where d.leased_until is null or d.leased_until <= now()
      for update of d skip locked
    )
    update deliveries d
    set leased_until = greatest(d.due_at, now()) + make_interval(secs => $6), taken_at = null
    from mine
    where d.id = mine.id
    returning d.id, d.claim, d.webhook_id, mine.in_flight::int, mine.stuck, mine.failing, mine.lapsed,
              greatest(0, ceil(extract(epoch from d.due_at - now()) * 1000))::int as delay_ms`,
};
