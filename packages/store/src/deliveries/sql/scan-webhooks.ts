import { LOW_WATER_MARK } from '../../db/sql/low-water-mark.ts';
import type { Statement } from '../../db/statement.ts';

/**
 * Reads the first outstanding delivery of each of these webhooks, from its low-water mark on: one index descent per
 * webhook, whatever the backlog behind the mark, and whatever has ended before it.
 *
 * $1 webhook ids, $2 due time and $3 id of each one's mark (nulls: from its first entry in the index), $4 look-ahead in
 * seconds, $5 seconds after which an attempt under way counts as stuck.
 * Returns a row per webhook: of its first delivery whether there is one (outstanding), whether it is due within the
 * look-ahead (due_soon), whether it is leased (held), whether its attempt is stuck; its place, if it is due
 * (front_due_at, front_id); and the new mark (mark_due_at, mark_id).
 */
export const scanWebhooks: Statement = {
  name: 'scan-webhooks',
  text: `
    select asked.webhook_id, first.id is not null as outstanding,
           coalesce(first.due_at <= now() + make_interval(secs => $4), false) as due_soon,
           coalesce(first.leased_until > now(), false) as held,
           coalesce(first.leased_until > now() and first.taken_at < now() - make_interval(secs => $5), false) as stuck,
           case when first.due_at <= now() then first.due_at end::text as front_due_at,
           case when first.due_at <= now() then first.id end as front_id,
           ${LOW_WATER_MARK}
    from unnest($1::text[], $2::timestamptz[], $3::bigint[]) asked (webhook_id, due_at, id)
    left join lateral (
      select d.due_at, d.id, d.leased_until, d.taken_at
      from deliveries d
      where d.webhook_id = asked.webhook_id
        and (d.due_at, d.id) >= (coalesce(asked.due_at, '-infinity'), coalesce(asked.id, 0))
      order by d.due_at, d.id
      limit 1
    ) first on true`,
};
