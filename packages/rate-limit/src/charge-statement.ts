/**
 * Charges one key. It is one statement in its own transaction.
 *
 * Guarantee: concurrent charges that are allowed in one window never cost more than the limit together. The
 * first charge of a window is the exception: it may cost any amount. `on conflict` locks the key's row and
 * reads its newest version, so two charges never see the same remainder. A refused charge changes nothing.
 * This holds under read committed, Postgres's default. Under stricter levels a conflict is an error, which
 * refuses the charge.
 *
 * Postgres reads its clock when the statement starts. A statement that waited for the row may count in a
 * window that has ended, but never in two windows.
 *
 * Parameters: $1 key, $2 cost, $3 limit, $4 length in milliseconds of a window that starts now.
 *
 * An allowed charge returns one row with `allowed`, the use of the window, and its remaining time. A refused
 * charge returns at most one row: a lower bound of the use, and the remaining time at the start of the
 * statement. The row comes from the statement's snapshot. So it may be missing, or older than the row that
 * decided. The use of an open window never falls, so an older use is a lower bound.
 */
export const CHARGE_STATEMENT = `
with charged as (
  insert into rate_limits as r (key, used, ends_at)
  values ($1::text, $2::int, now() + $4::float8 * interval '1 millisecond')
  on conflict (key) do update set
    used = case when r.ends_at <= now() then excluded.used else r.used + excluded.used end,
    ends_at = case when r.ends_at <= now() then excluded.ends_at else r.ends_at end
  where r.ends_at <= now() or r.used + excluded.used <= $3::int
  returning used, ends_at
)
select true as allowed, used, extract(epoch from ends_at - now())::float8 * 1000 as "leftMs" from charged
union all
select false, seen.used, extract(epoch from seen.ends_at - now())::float8 * 1000
from rate_limits seen
where seen.key = $1::text and seen.ends_at > now() and not exists (select from charged)`;
