import { lockOrder } from '../../db/sql/lock-order.ts';
import type { Statement } from '../../db/statement.ts';

type Parameter = `$${number}`;

/**
 * The insert that suppresses, for anything, the addresses that a notification blames.
 *
 * Guarantee: one row an address, locked in the order of `lockOrder`. One that is there keeps its id and time; but a
 * complaint, which is not taken back as easily, takes the place of what was there.
 *
 * @param email a FROM item with `account_id` and `email_id`; without a row nobody is suppressed.
 * @param parameters suppression ids, addresses (each once), origins, created at.
 */
export function insertReported(
  email: string,
  [ids, addresses, origins, createdAt]: readonly [Parameter, Parameter, Parameter, Parameter],
): string {
  return `
      insert into suppressions (id, account_id, address, origin, email_id, created_at)
      select r.id, e.account_id, r.address, r.origin, e.email_id, ${createdAt}::timestamptz
      from ${email} e,
           unnest(${ids}::text[], ${addresses}::text[], ${origins}::suppression_origin[]) as r (id, address, origin)
      order by ${lockOrder('r.address')}
      on conflict (account_id, address, topic_id) do update
        set origin = excluded.origin, email_id = excluded.email_id
        where excluded.origin = 'complaint' and suppressions.origin <> 'complaint'`;
}

/**
 * Suppresses the addresses that notifications blame. The guarantee is that of `insertReported`.
 *
 * $1 suppression ids, $2 addresses, each once, $3 origins, $4 account, $5 email, $6 created at.
 */
export const suppressReported: Statement = {
  name: 'suppress-reported',
  text: insertReported('(select $4::text as account_id, $5::text as email_id)', ['$1', '$2', '$3', '$6']),
};
