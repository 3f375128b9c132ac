import type { Statement } from '../../db/statement.ts';

/**
 * Leases deliveries that are due soon, fairly over accounts and over the webhooks of each, and says which lane each goes to.
 *
 * Guarantee: a webhook that is removed gets nothing. What a webhook gets is taken from its oldest rows (from its front
 * on, where one is given), as many as its room, leased ones included: so what is
 * due and in somebody's hands never exceeds the room. Rows are taken round-robin, for each lane by
 * itself, accounts before webhooks: in a lane the account that has fewer in flight goes first,
 * and within an account the first row of one webhook goes before the second of another. Of equals those asked for first are served
 * first. A lane that is full keeps nobody out of the other. Two relays never get the same row; a row whose lease
 * ran out is leased again, and if nobody had taken it, under a new claim: its job may be stuck in the queue, which would
 * take another of the same id for a double. Where the queue is slower than the lease this does not go round for ever: a
 * stale job costs no more than a take, so what waits behind them has a fresh lease. The commit may be lost with a crash of Postgres: then the row is simply free, and the job
 * that was made for it finds its claim or is stale.
 *
 * A row that was found is gone back to by its place in the table (ctid) rather than by its id, which would be an index
 * descent each time. One that moves meanwhile, because somebody else writes it, is left for the next claim.
 *
 * How many rows are picked the planner cannot know: it thinks of a share of the backlog, and would read all of it for a join.
 * The connections that run this leave it no join but one place after the other (`plans: 'once'`).
 *
 * Nothing before a webhook's front is looked at, nor counted. Rows that have ended stay in the index until a vacuum, and
 * for as long as an open snapshot may see them. A claim that begins at the webhook's first row reads all of them.
 *
 * $1 webhook ids, $2 room of each, $3 how much of it is in the fast lane, $4 look-ahead in seconds, $5 rows at the
 * most that are due for the fast lane, $6 for the slow lane, $7 room of a failing webhook, $8 lease in seconds (it begins when the
 * row is due), $9 seconds after which an attempt under way counts as stuck, $10 due time and $11 id of each webhook's
 * front, or nulls, $12 rows at the most that are not due yet, for each lane, $13 what the account of each webhook has in
 * flight, webhooks that are not asked for included.
 */
export const claimDeliveries: Statement = {
  name: 'claim-deliveries',
  text: `
    with asked as materialized (
      select a.webhook_id, w.account_id, a.account_in_flight, a.fast_room, a.place,
             coalesce(a.front_due_at, '-infinity') as front_due_at, coalesce(a.front_id, 0) as front_id,
             w.failing_since is not null as failing,
             case when w.failing_since is null then a.room else least(a.room, $7::int) end as room
      from unnest($1::text[], $2::int[], $3::int[], $10::timestamptz[], $11::bigint[], $13::int[])
             with ordinality a (webhook_id, room, fast_room, front_due_at, front_id, account_in_flight, place)
      join webhooks w on w.id = a.webhook_id and w.removed_at is null
    ),
    free as (
      select k.at, k.rank, k.early, k.in_flight, k.seen, k.stuck, a.failing, a.account_id, a.account_in_flight,
             a.place, a.failing or k.rank > a.fast_room as slow
      from asked a
      cross join lateral (
        select x.at, x.leased_until, x.due_at > now() as early,
               row_number() over (order by x.due_at, x.id) as rank,
               count(*) filter (where x.leased_until > now() and x.due_at <= now()) over () as in_flight,
               count(*) over () as seen,
               coalesce(bool_or(x.leased_until > now()
                 and x.taken_at < now() - make_interval(secs => $9)) over (), false) as stuck
        from (
          select d.ctid as at, d.id, d.due_at, d.leased_until, d.taken_at
          from deliveries d
          where d.webhook_id = a.webhook_id and d.due_at <= now() + make_interval(secs => $4)
            and (d.due_at, d.id) >= (a.front_due_at, a.front_id)
          order by d.due_at, d.id
          limit a.room
        ) x
      ) k
      where k.leased_until is null or k.leased_until <= now()
    ),
    ranked as (
      select free.*, case when early then $12::int when slow then $6::int else $5::int end as rows_max,
             max(account_in_flight) over (partition by account_id)
               + row_number() over (partition by early, slow, account_id order by rank, place) as account_rank,
             count(*) over (partition by early, slow) as free
      from free
    ),
    picked as materialized (
      select turn.*, turn.free > turn.rows_max as left_out
      from (
        select ranked.*, row_number() over (partition by early, slow order by account_rank, place) as turn
        from ranked
      ) turn
      where turn.turn <= turn.rows_max
    ),
    mine as materialized (
      select d.ctid as at, p.account_id, p.in_flight, p.seen, p.stuck, p.failing, p.slow, p.left_out,
             d.leased_until is not null as lapsed
      from deliveries d
      join picked p on p.at = d.ctid
      where d.leased_until is null or d.leased_until <= now()
      for update of d skip locked
    )
    update deliveries d
    set claim = d.claim + case when mine.lapsed and d.taken_at is null then 1 else 0 end,
        leased_until = greatest(d.due_at, now()) + make_interval(secs => $8), taken_at = null
    from mine
    where d.ctid = mine.at
    returning d.id, d.claim, d.webhook_id, mine.account_id, mine.in_flight::int, mine.seen::int, mine.stuck, mine.failing, mine.slow, mine.lapsed, mine.left_out,
              d.attempts, greatest(0, ceil(extract(epoch from d.due_at - now()) * 1000))::int as delay_ms,
              greatest(0, extract(epoch from now() - d.due_at) * 1000)::float8 as late_ms`,
};
