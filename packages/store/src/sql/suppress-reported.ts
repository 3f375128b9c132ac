import type { Statement } from '../statement.ts';
import { lockOrder } from './lock-order.ts';

/**
 * Suppresses the addresses that a notification blames, for anything.
 *
 * Guarantee: one row an address, locked in the order of `lockOrder`. One that is there keeps its id and time; but a
 * complaint, which is not taken back as easily, takes the place of what was there.
 *
 * $1 suppression ids, $2 addresses, each once, $3 origins, $4 account, $5 email, $6 created at.
 */
export const suppressReported: Statement = {
  name: 'suppress-reported',
  text: `
    insert into suppressions (id, account_id, address, origin, email_id, created_at)
    select r.id, $4, r.address, r.origin, $5, $6::timestamptz
    from unnest($1::text[], $2::text[], $3::suppression_origin[]) as r (id, address, origin)
    order by ${lockOrder('r.address')}
    on conflict (account_id, address, topic_id) do update
      set origin = excluded.origin, email_id = excluded.email_id
      where excluded.origin = 'complaint' and suppressions.origin <> 'complaint'`,
};
