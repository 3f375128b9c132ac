/**
 * Charges one key: one statement, its own transaction.
 *
 * Guarantee: of any number of concurrent charges, those that are allowed never cost more than the limit in one window,
 * but for the first of a window, which may cost anything. `on conflict` locks the key's row and judges its
 * newest version, so that no two charges see the same remainder; a refused charge changes nothing. Holds under
 * read committed, Postgres's default; under stricter levels a conflict is an error, and so a refusal.
 *
 * The clock is Postgres's own, read when the statement begins: one that waited for the row may still count in a
 * window that ended meanwhile, never in two.
 *
 * $1 key, $2 cost, $3 limit, $4 length in milliseconds of a window that begins now.
 * Returns one row, `allowed`, when allowed, with what is used of the window now and how long it lasts. When refused, at
 * most one row: what at the least was used of the open window, and how long it lasted when the statement began. It is
 * read in the statement's snapshot, so it may be older than what the charge was judged by, or missing: use only grows
 * while a window is open.
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
