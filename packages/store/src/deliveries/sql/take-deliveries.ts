import { statement } from '../../db/statement.ts';

/**
 * Takes deliveries for an attempt each.
 *
 * Guarantee: of any number of jobs with one claim, exactly one gets the row, because the take raises the
 * claim. An old or repeated job matches nothing. Neither does a delivery whose webhook is gone or
 * marked as removed. A locked row is waited for, in the order of ids.
 *
 * A job that arrives before the delivery is due gets the row too. The queue counts time by its clients'
 * clocks, and a dropped job would be missing until the lease expires.
 *
 * A delivery whose event is gone is returned without a type, so that the worker can end it. Nothing else
 * would. See finish-deliveries for why rows are written by `any (array(…))`.
 *
 * $1 delivery ids, $2 their claims, $3 lease in seconds (from the due time on), $4 number of the worker.
 */
export const takeDeliveries = statement('take-deliveries')`
    with mine as materialized (
      select d.id
      from unnest($1::bigint[], $2::int[]) job (id, claim)
      join deliveries d on d.id = job.id and d.claim = job.claim
      where d.id = any ($1::bigint[]) and (select true from webhooks w where w.id = d.webhook_id and w.removed_at is null)
      order by d.id
      for update of d
    ),
    taken as (
      update deliveries d
      set claim = d.claim + 1, leased_until = greatest(d.due_at, now()) + make_interval(secs => $3),
          taken_at = greatest(d.due_at, now()), worker = $4::int
      where d.id = any (array(select id from mine))
      returning d.id, d.claim, d.attempts, d.event_id, d.webhook_id, d.due_at
    )
    select d.id as "deliveryId", d.claim, d.attempts as "attemptsMade", d.event_id as "eventId", d.webhook_id as "webhookId",
           e.type as "eventType", e.created_at as "eventCreatedAt", e.data as "eventData",
           coalesce(w.subject, w.account_id) as subject, w.endpoint,
           w.secret_key_id as "secretKeyId", w.secret_sealed as "secretSealed",
           w.headers_sealed as "headersSealed",
           w.failing_since is not null as failing,
           greatest(0, ceil(extract(epoch from d.due_at - now()) * 1000))::int as "dueInMs",
           greatest(0, extract(epoch from now() - d.due_at) * 1000)::float8 as "lateMs"
    from taken d
    left join lateral (select * from events where id = d.event_id offset 0) e on true
    cross join lateral (select * from webhooks where id = d.webhook_id offset 0) w`;
