import type { Statement } from '../statement.ts';
import { lockOrder } from './lock-order.ts';

/**
 * Suppresses addresses, about anything. One that is suppressed already stays as it is.
 *
 * Guarantee: of any number of concurrent additions of one address exactly one is told that it is new; the others wait
 * for it. Rows are locked in the order of `lockOrder`.
 *
 * The no-op update on conflict makes a row come back that another transaction has committed meanwhile; a row that was
 * inserted is one that no transaction has ever locked (xmax 0).
 *
 * $1 account, $2 ids to give, $3 addresses, as many and each once, $4 origin, $5 email id or null, $6 created at.
 * Returns one row for each address.
 */
export const addSuppressions: Statement = {
  name: 'add-suppressions',
  text: `
    insert into suppressions as s (id, account_id, address, origin, email_id, created_at)
    select w.id, $1, w.address, $4::suppression_origin, $5, $6::timestamptz
    from unnest($2::text[], $3::text[]) as w (id, address)
    order by ${lockOrder('w.address')}
    on conflict (account_id, address, topic_id) do update set address = s.address
    returning s.id, s.address, s.xmax = 0 as is_new`,
};
