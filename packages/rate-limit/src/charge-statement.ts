/**
 * Charges one key: one statement, its own transaction.
 *
 * Guarantee: of any number of concurrent charges, those that return a row never cost more than the limit in one window,
 * but for the first of a window, which may cost anything. `on conflict` locks the key's row and judges its
 * newest version, so that no two charges see the same remainder; a refused charge changes nothing. Holds under
 * read committed, Postgres's default; under stricter levels a conflict is an error, and so a refusal.
 *
 * The clock is Postgres's own, read when the statement begins: one that waited for the row may still count in a
 * window that ended meanwhile, never in two.
 *
 * $1 key, $2 cost, $3 limit, $4 length in milliseconds of a window that begins now.
 * Returns one row when allowed, none when refused.
 */
export const CHARGE_STATEMENT = `
insert into rate_limits as r (key, used, ends_at)
values ($1::text, $2::int, now() + $4::float8 * interval '1 millisecond')
on conflict (key) do update set
  used = case when r.ends_at <= now() then excluded.used else r.used + excluded.used end,
  ends_at = case when r.ends_at <= now() then excluded.ends_at else r.ends_at end
where r.ends_at <= now() or r.used + excluded.used <= $3::int
returning key`;
