/**
 * Looks at one key's window and changes nothing.
 *
 * $1 key, $2 limit. Returns one row: whether a charge of 1 would be allowed, and of an open window its use and how long
 * it lasts.
 */
export const PEEK_STATEMENT = `
select coalesce(max(used), 0) < $2::int or count(*) = 0 as allowed, coalesce(max(used), 0)::int as used,
       coalesce(max(extract(epoch from ends_at - now())), 0)::float8 * 1000 as "leftMs"
from rate_limits
where key = $1::text and ends_at > now()`;
