import type { Statement } from '../statement.ts';

/**
 * Suppresses the addresses that a notification blames, for anything.
 *
 * Guarantee: one row an address, in the order of the addresses, so that two notifications cannot deadlock. One that is
 * there keeps its id and time; but a complaint, which is not taken back as easily, takes the place of what was there.
 *
 * $1 suppression ids, $2 addresses, sorted, each once, $3 origins, $4 account, $5 email, $6 created at.
 */
export const suppressReported: Statement = {
  name: 'suppress-reported',
  text: `
    insert into suppressions (id, account_id, address, origin, email_id, created_at)
    select r.id, $4, r.address, r.origin, $5, $6::timestamptz
    from unnest($1::text[], $2::text[], $3::suppression_origin[]) with ordinality r (id, address, origin, position)
    order by r.position
    on conflict (account_id, address, topic_id) do update
      set origin = excluded.origin, email_id = excluded.email_id
      where excluded.origin = 'complaint' and suppressions.origin <> 'complaint'`,
};
