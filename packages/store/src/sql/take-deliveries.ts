import type { Statement } from '../statement.ts';

/**
 * Takes deliveries in hand for an attempt each.
 *
 * Guarantee: of any number of jobs for one hand-over exactly one gets the row, because taking it raises its claim:
 * a stale, doubled or revived job matches nothing. A delivery whose webhook is gone matches nothing either.
 *
 * $1 delivery ids, $2 their claims, $3 lease in seconds.
 */
export const takeDeliveries: Statement = {
  name: 'take-deliveries',
  text: `
    with mine as materialized (
      select d.id
      from unnest($1::bigint[], $2::int[]) job (id, claim)
      join deliveries d on d.id = job.id and d.claim = job.claim
      where d.due_at <= now() + interval '2 seconds'
      for update of d skip locked
    )
    update deliveries d
    set claim = d.claim + 1, leased_until = now() + make_interval(secs => $3), taken_at = now()
    from mine, events e, webhooks w
    where d.id = mine.id and e.id = d.event_id and w.id = d.webhook_id
    returning d.id, d.claim, d.attempts, d.event_id, d.webhook_id,
              e.type, e.created_at, e.data,
              coalesce(w.subject, w.account_id) as subject, w.endpoint, w.secret_key_id, w.secret_sealed,
              w.failing_since is not null as failing,
              greatest(0, ceil(extract(epoch from d.due_at - now()) * 1000))::int as early_ms`,
};
