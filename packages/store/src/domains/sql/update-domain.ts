import type { Statement } from '../../db/statement.ts';

/**
 * Keeps what the provider says of a domain.
 *
 * Guarantee: one that stood as verified counts as verified once, also where a process of the last release verified it.
 *
 * $1 account, $2 id, $3 status, $4 records (JSON), $5 now. Returns its name, or no row when there is none.
 */
export const updateDomain: Statement = {
  name: 'update-domain',
  text: `
    update domains
    set status = $3::domain_status, records = $4::json,
        first_verified_at = coalesce(first_verified_at, case when status = 'verified' then $5::timestamptz end)
    where account_id = $1 and id = $2
    returning name`,
};
