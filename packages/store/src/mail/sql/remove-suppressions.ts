import { lockOrder } from '../../db/sql/lock-order.ts';
import type { Statement } from '../../db/statement.ts';

/**
 * Removes suppressions by their ids, or by addresses those that are about anything.
 *
 * Guarantee: all of those found, or none. Without a reason none is removed if one of them came of a complaint; with
 * one, it is kept for each complaint. Of concurrent removals of one suppression exactly one returns it as removed. Rows
 * are locked in the order of `lockOrder`.
 *
 * $1 account, $2 ids, $3 addresses, $4 reason or null, $5 removed at. Returns those found, each with whether it went.
 */
export const removeSuppressions: Statement = {
  name: 'remove-suppressions',
  text: `
    with found as materialized (
      select s.id, s.address, s.origin
      from suppressions s
      where s.account_id = $1 and (s.id = any ($2::text[]) or (s.address = any ($3::text[]) and s.topic_id = ''))
      order by ${lockOrder('s.address', 's.topic_id')}
      for update
    ),
    gone as (
      delete from suppressions s using found
      where s.id = found.id
        and ($4::text is not null or not exists (select from found f where f.origin = 'complaint'))
      returning s.id
    ),
    reasons as (
      insert into removed_complaints (suppression_id, account_id, address, reason, removed_at)
      select found.id, $1, found.address, $4, $5::timestamptz
      from found join gone using (id)
      where found.origin = 'complaint'
    )
    select found.id, gone.id is not null as removed
    from found left join gone using (id)`,
};
