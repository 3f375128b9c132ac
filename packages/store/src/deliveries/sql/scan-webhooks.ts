import { statement } from '../../db/statement.ts';

/**
 * The position from which the next scan of a webhook must read (decision 0016), given its first outstanding
 * delivery `first`, which may be missing.
 *
 * A transaction that is still open may insert a delivery with an earlier due time. Therefore the position is
 * at least two seconds old. A transaction that stays open for longer hides its deliveries until the next
 * sweep.
 */
const SCAN_FROM = `
  least(first.due_at, now() - interval '2 s')::text as "fromDueAt",
  case when first.due_at < now() - interval '2 s' then first.id else 0 end as "fromId"`;

/**
 * Reads the first outstanding delivery of each webhook, from a given position on.
 *
 * Cost: one index descent per webhook, whatever the backlog behind the position, and whatever has ended
 * before it.
 *
 * $1 webhook ids, $2 due times and $3 ids of the positions (nulls: the start of the index), $4 look-ahead in
 * seconds, $5 seconds after which an attempt in flight counts as stuck.
 * Returns a row per webhook. `firstDueAt` and `firstDueId` are null when the first delivery is not due yet.
 */
export const scanWebhooks = statement('scan-webhooks')`
    select asked.webhook_id as "webhookId", first.id is not null as outstanding,
           coalesce(first.due_at <= now() + make_interval(secs => $4), false) as "dueSoon",
           coalesce(first.leased_until > now(), false) as leased,
           coalesce(first.leased_until > now() and first.taken_at < now() - make_interval(secs => $5), false) as stuck,
           case when first.due_at <= now() then first.due_at end::text as "firstDueAt",
           case when first.due_at <= now() then first.id end as "firstDueId",
           ${SCAN_FROM}
    from unnest($1::text[], $2::timestamptz[], $3::bigint[]) asked (webhook_id, due_at, id)
    left join lateral (
      select d.due_at, d.id, d.leased_until, d.taken_at
      from deliveries d
      where d.webhook_id = asked.webhook_id
        and (d.due_at, d.id) >= (coalesce(asked.due_at, '-infinity'), coalesce(asked.id, 0))
      order by d.due_at, d.id
      limit 1
    ) first on true`;

/**
 * Finds the next webhooks with outstanding deliveries, in the order of their ids. Returns those whose first
 * delivery is due within the look-ahead.
 *
 * Cost: one index descent per webhook, whatever its backlog. It begins at each webhook's first index entry.
 * While an old snapshot keeps dead entries there, it reads every entry.
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
    select step.next_cursor as cursor, first.webhook_id as "webhookId", ${SCAN_FROM}
    from (select case when count(*) = $2 then max(webhook_id) end as next_cursor from sweep) step
    left join sweep first on first.due_at <= now() + make_interval(secs => $3)
    order by first.webhook_id`;

/** Finds the webhook after $1 (a webhook id; '' to begin), with or without deliveries. */
export const nextWebhook = statement('next-webhook')`
    select id from webhooks where id > $1 order by id limit 1`;
