import type { Statement } from '../../db/statement.ts';

/**
 * Takes deliveries in hand for an attempt each.
 *
 * Guarantee: of any number of jobs for one hand-over exactly one gets the row, because taking it raises its claim:
 * a stale, doubled or revived job matches nothing. A delivery whose webhook is gone, or marked
 * as removed, matches nothing either. A row that
 * is locked for a moment is waited for, in the order of ids. A job that comes before its time (the queue goes by its
 * clients' clocks) gets the row too: dropped, it would be missed until its lease ran out. Written as in finish-done.
 *
 * A delivery whose event is gone is given too, without a type: its taker ends it. Nothing else would.
 *
 * $1 delivery ids, $2 their claims, $3 lease in seconds (it begins when the row is due).
 */
export const takeDeliveries: Statement = {
  name: 'take-deliveries',
  text: `
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
          taken_at = greatest(d.due_at, now())
      where d.id = any (array(select id from mine))
      returning d.id, d.claim, d.attempts, d.event_id, d.webhook_id, d.due_at
    )
    select d.id, d.claim, d.attempts, d.event_id, d.webhook_id,
           e.type, e.created_at, e.data,
           coalesce(w.subject, w.account_id) as subject, w.endpoint, w.secret_key_id, w.secret_sealed,
           w.failing_since is not null as failing,
           greatest(0, ceil(extract(epoch from d.due_at - now()) * 1000))::int as early_ms,
           greatest(0, extract(epoch from now() - d.due_at) * 1000)::float8 as late_ms
    from taken d
    left join lateral (select * from events where id = d.event_id offset 0) e on true
    cross join lateral (select * from webhooks where id = d.webhook_id offset 0) w`,
};
