/**
 * Columns with the position from which the next read of a webhook must start (decision 0016), given its first
 * outstanding delivery `first`, which may be missing.
 *
 * A transaction that is still open may insert a delivery with an earlier due time. Therefore the position is
 * at least two seconds old; id 0 comes before every delivery of that time. A transaction that stays open for
 * longer hides its deliveries until the next sweep.
 */
export const LOW_WATER_MARK = `
  least(first.due_at, now() - interval '2 s')::text as "fromDueAt",
  case when first.due_at < now() - interval '2 s' then first.id else 0 end as "fromId"`;
