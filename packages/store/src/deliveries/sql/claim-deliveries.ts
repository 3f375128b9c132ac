import { endLeases } from '../../db/sql/end-leases.ts';
import { statement } from '../../db/statement.ts';
import type { Statement } from '../../db/statement.ts';

/**
 * Leases deliveries that are due within the look-ahead, and says to which lane each goes. The claim is fair
 * over accounts, and over the webhooks of each account.
 *
 * Guarantee, concurrency limit: a removed webhook gets nothing. Of each webhook the claim reads its oldest
 * rows, as many as its limit allows, leased rows included. So the deliveries that are due and in flight never
 * exceed the limit.
 *
 * Guarantee, fairness: rows are given round-robin, in each lane by itself. The account with fewer deliveries
 * in flight comes first. Within an account, the first row of each webhook comes before the second row of any.
 * Ties keep the caller's order. A full lane does not keep rows from the other lane.
 *
 * Guarantee, one owner: two relays never get the same row. A row whose lease has expired is leased again. If
 * no worker had taken it, it gets a new claim: its old job may still be in the queue, which would drop a
 * second job of the same id. A stale job costs one failed take, so a queue that is slower than the lease does
 * not cause an endless loop. The commit need not be durable: if Postgres crashes, the row is free again, and
 * the job either still matches its claim or is stale.
 *
 * The statement finds its rows again by `ctid`, because an index descent per id would cost more. A row that
 * another session updates meanwhile has a new `ctid`: it is left for the next claim.
 *
 * The planner cannot know how many rows are picked. It would assume a share of the backlog, and a hash join
 * would read the whole backlog. Connections with `plans: 'once'` allow nested loops only.
 *
 * Rows before a webhook's start position are neither read nor counted. Ended rows stay in the index until a
 * vacuum, and as long as an open snapshot may see them. A claim without a start position reads all of these.
 *
 * $1 webhook ids, $2 limit of each, $3 its limit in the fast lane, $4 look-ahead in seconds, $5 due rows at
 * most for the fast lane, $6 for the slow lane, $7 limit of a failing webhook, $8 lease in seconds (from the
 * due time on), $9 seconds after which an attempt in flight counts as stuck, $10 due times and $11 ids of the
 * start positions (nulls: none), $12 rows at most that are not due yet, for each lane, $13 deliveries in
 * flight of each webhook's account, over all its webhooks.
 */
export const claimDeliveries = statement('claim-deliveries')`
    with asked as materialized (
      select a.webhook_id, w.account_id, a.account_in_flight, a.fast_limit, a.request_order,
             coalesce(a.from_due_at, '-infinity') as from_due_at, coalesce(a.from_id, 0) as from_id,
             w.failing_since is not null as failing,
             case when w.failing_since is null then a.row_limit else least(a.row_limit, $7::int) end as row_limit
      from unnest($1::text[], $2::int[], $3::int[], $10::timestamptz[], $11::bigint[], $13::int[])
             with ordinality
             a (webhook_id, row_limit, fast_limit, from_due_at, from_id, account_in_flight, request_order)
      join webhooks w on w.id = a.webhook_id and w.removed_at is null
    ),
    available as (
      select k.at, k.age_rank, k.early, k.in_flight, k.rows_read, k.stuck, a.failing, a.account_id, a.account_in_flight,
             a.request_order, a.failing or k.age_rank > a.fast_limit as slow
      from asked a
      cross join lateral (
        select x.at, x.leased_until, x.due_at > now() as early,
               row_number() over (order by x.due_at, x.id) as age_rank,
               count(*) filter (where x.leased_until > now() and x.due_at <= now()) over () as in_flight,
               count(*) over () as rows_read,
               coalesce(bool_or(x.leased_until > now()
                 and x.taken_at < now() - make_interval(secs => $9)) over (), false) as stuck
        from (
          select d.ctid as at, d.id, d.due_at, d.leased_until, d.taken_at
          from deliveries d
          where d.webhook_id = a.webhook_id and d.due_at <= now() + make_interval(secs => $4)
            and (d.due_at, d.id) >= (a.from_due_at, a.from_id)
          order by d.due_at, d.id
          limit a.row_limit
        ) x
      ) k
      where k.leased_until is null or k.leased_until <= now()
    ),
    account_ranked as (
      select available.*, case when early then $12::int when slow then $6::int else $5::int end as rows_max,
             max(account_in_flight) over (partition by account_id)
               + row_number() over (partition by early, slow, account_id order by age_rank, request_order)
               as account_rank,
             count(*) over (partition by early, slow) as lane_rows
      from available
    ),
    picked as materialized (
      select in_lane.*, in_lane.lane_rows > in_lane.rows_max as over_limit
      from (
        select account_ranked.*,
               row_number() over (partition by early, slow order by account_rank, request_order) as lane_rank
        from account_ranked
      ) in_lane
      where in_lane.lane_rank <= in_lane.rows_max
    ),
    mine as materialized (
      select d.ctid as at, p.account_id, p.in_flight, p.rows_read, p.stuck, p.failing, p.slow, p.over_limit,
             d.leased_until is not null as lease_expired
      from deliveries d
      join picked p on p.at = d.ctid
      where d.leased_until is null or d.leased_until <= now()
      for update of d skip locked
    )
    update deliveries d
    set claim = d.claim + case when mine.lease_expired and d.taken_at is null then 1 else 0 end,
        leased_until = greatest(d.due_at, now()) + make_interval(secs => $8), taken_at = null
    from mine
    where d.ctid = mine.at
    returning d.id as "deliveryId", d.claim, d.webhook_id as "webhookId", mine.account_id as "accountId",
              mine.in_flight::int as "inFlight", mine.rows_read::int as "rowsRead", mine.stuck, mine.failing, mine.slow,
              mine.lease_expired as "leaseExpired", mine.over_limit as "overLimit", d.attempts as "attemptsMade",
              greatest(0, ceil(extract(epoch from d.due_at - now()) * 1000))::int as "delayMs",
              greatest(0, extract(epoch from now() - d.due_at) * 1000)::float8 as "lateMs"`;

/** Frees deliveries whose jobs the relay could not add to the queue. $1 ids, $2 claims: see `endLeases`. */
export const releaseDeliveries: Statement = {
  name: 'release-deliveries',
  text: endLeases({ at: 'null', table: 'deliveries', id: 'id', idType: 'bigint' }),
};
