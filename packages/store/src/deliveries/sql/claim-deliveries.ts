import { endLeases } from '../../db/sql/end-leases.ts';
import { statement } from '../../db/statement.ts';
import { LOW_WATER_MARK } from './low-water-mark.ts';

/**
 * Whether a row may be leased: it has no lease, its lease has expired, or its worker died. A dead worker may
 * also have fetched jobs whose rows it did not take. So an untaken row is free if it was leased before the
 * death. If its job still waits in the queue, it then has two jobs (decision 0036).
 */
const IS_FREE = `(d.leased_until is null or d.leased_until <= now()
                   or coalesce(d.worker = any ($14::int[]), false)
                   or d.taken_at is null and d.leased_until < $15::timestamptz + make_interval(secs => $12))`;

/**
 * Leases the deliveries of these webhooks that are due within the look-ahead, and reports what it saw of each
 * webhook. So the relay learns what is due and in flight from its claims.
 *
 * Guarantee, concurrency limit: only a webhook's oldest rows may be leased, as many as its limit. Rows that
 * have a lease already count, too. Deliveries that were leased before they were due may exceed the limit when
 * they become due. A removed webhook gets nothing, and no report.
 *
 * Guarantee, fairness: the account with fewer deliveries in flight comes first. Within an account, the first
 * row of each webhook comes before the second row of any. Ties keep the caller's order. A full lane keeps no
 * rows from the other.
 *
 * Guarantee, one owner: two relays never get the same row. The commit need not be durable: if Postgres
 * crashes, the row is free again, and the job either still matches its claim or is stale.
 *
 * Guarantee, order in a slow queue: a row that is leased again keeps its claim. So a job that waits longer
 * than the lease still matches, and newer rows do not overtake it. The second job costs one failed take.
 *
 * The statement finds its rows again by `ctid`, because an index descent per id would cost more. A row that
 * another session updates meanwhile has a new `ctid`: it is left for the next claim. The relay's connections
 * allow nested loops only, because a hash join would read the whole backlog (decision 0012). The index by due
 * time has `greatest(d.id, 0)` instead of the id (decision 0012).
 *
 * Rows before a webhook's low-water mark are neither read nor counted (decision 0016).
 *
 * By webhook:
 * - $1 ids, $2 concurrency limits, $3 rows to read (the limit or more), $4 whether the webhook uses the slow
 *   lane
 * - $5 due times and $6 ids of the low-water marks, or nulls; $7 deliveries in flight of its account
 *
 * For all:
 * - $8 look-ahead in seconds; $12 lease in seconds, from the due time on
 * - $9 due rows at most for the fast lane, $10 for the slow lane; $11 rows not due yet at most for each lane
 * - $13 seconds after which an attempt is stuck
 * - $14 numbers of workers that died, $15 a time by which all had died ('-infinity': none)
 *
 * Returns a row for each leased delivery. A webhook that got none has one row without a delivery. Each row
 * has the report of its webhook, as it was before the claim.
 */
export const claimDeliveries = statement('claim-deliveries')`
    with asked as materialized (
      select a.webhook_id, w.account_id, a.account_in_flight, a.request_order, a.rows_to_read,
             coalesce(a.from_due_at, '-infinity') as from_due_at, coalesce(a.from_id, 0) as from_id,
             w.failing_since is not null as failing, a.slow or w.failing_since is not null as slow, a.in_flight_max
      from unnest($1::text[], $2::int[], $3::int[], $4::boolean[], $5::timestamptz[], $6::bigint[], $7::int[])
             with ordinality
             a (webhook_id, in_flight_max, rows_to_read, slow, from_due_at, from_id, account_in_flight, request_order)
      cross join lateral (select * from webhooks where id = a.webhook_id offset 0) w
      where w.removed_at is null
    ),
    seen as materialized (
      select a.webhook_id, a.account_id, a.account_in_flight, a.request_order, a.failing, a.slow, a.in_flight_max, k.*
      from asked a
      left join lateral (
        select x.at, x.id, x.due_at, x.due, x.held, row_number() over (order by x.due_at, x.id) as age_rank,
               count(*) filter (where x.due) over () as due_rows,
               count(*) filter (where x.due and x.held) over () as in_flight,
               count(*) filter (where x.held and x.taken_at < now() - make_interval(secs => $13)) over () as stuck,
               count(*) filter (where x.had_lease and not x.held) over () as expired,
               min(x.due_at) filter (where not x.due) over () as next_due_at
        from (
          select d.ctid as at, greatest(d.id, 0) as id, d.due_at, d.taken_at, d.due_at <= now() as due,
                 d.leased_until is not null as had_lease, not ${IS_FREE} as held
          from deliveries d
          where d.webhook_id = a.webhook_id and (d.due_at, greatest(d.id, 0)) >= (a.from_due_at, a.from_id)
          order by d.due_at, greatest(d.id, 0)
          limit a.rows_to_read
        ) x
      ) k on true
    ),
    account_ranked as (
      select at, slow, request_order, not due as early,
             case when not due then $11::int when slow then $10::int else $9::int end as rows_max,
             max(account_in_flight) over (partition by account_id)
               + row_number() over (partition by due, slow, account_id order by age_rank, request_order)
               as account_rank
      from seen
      where age_rank <= in_flight_max and not held and due_at <= now() + make_interval(secs => $8)
    ),
    picked as materialized (
      select in_lane.at, in_lane.slow
      from (
        select account_ranked.*,
               row_number() over (partition by early, slow order by account_rank, request_order) as lane_rank
        from account_ranked
      ) in_lane
      where in_lane.lane_rank <= in_lane.rows_max
    ),
    mine as materialized (
      select d.ctid as at, p.slow, d.leased_until is not null as lease_expired
      from deliveries d
      join picked p on p.at = d.ctid
      where ${IS_FREE}
      for update of d skip locked
    ),
    leased as (
      update deliveries d
      set leased_until = greatest(d.due_at, now()) + make_interval(secs => $12), taken_at = null, worker = null
      from mine
      where d.ctid = mine.at
      returning d.webhook_id, d.id, d.claim, mine.slow, mine.lease_expired,
                greatest(0, ceil(extract(epoch from d.due_at - now()) * 1000))::int as due_in_ms
    )
    select first.webhook_id as "webhookId", first.account_id as "accountId", first.failing,
           coalesce(first.due_rows, 0)::int as due, coalesce(first.in_flight, 0)::int as "inFlight",
           coalesce(first.stuck, 0)::int as stuck, coalesce(first.expired, 0)::int as expired,
           (extract(epoch from first.next_due_at - now()) * 1000)::float8 as "nextDueInMs", ${LOW_WATER_MARK},
           leased.id as "deliveryId", leased.claim, leased.slow, leased.lease_expired as "leaseExpired",
           leased.due_in_ms as "dueInMs"
    from (select * from seen where age_rank is null or age_rank = 1) first
    left join leased on leased.webhook_id = first.webhook_id`;

/**
 * Frees deliveries whose jobs the relay could not add to the queue. Those whose earlier lease had expired are
 * claimed as expired again: their first job may be stuck, so the next one needs an id of its own.
 *
 * $1 ids, $2 claims: see `endLeases`; $3 ids of those whose earlier lease had expired.
 */
export const releaseDeliveries = statement('release-deliveries')`
    ${endLeases({ at: 'case when d.id = any ($3::bigint[]) then now() end', table: 'deliveries', id: 'id', idType: 'bigint' })}`;
