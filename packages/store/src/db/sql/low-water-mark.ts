/**
 * The place from which a webhook's outstanding deliveries have to be looked at, given the first of them (`first`, which
 * may be none): the columns mark_due_at and mark_id.
 *
 * A transaction that is still open may insert a delivery with an earlier due time. Therefore the mark is at least two
 * seconds old. A transaction that stays open for longer than that hides its deliveries until the next sweep.
 */
export const LOW_WATER_MARK = `
  least(first.due_at, now() - interval '2 s')::text as mark_due_at,
  case when first.due_at < now() - interval '2 s' then first.id else 0 end as mark_id`;
