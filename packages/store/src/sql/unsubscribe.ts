import type { Statement } from '../statement.ts';

/**
 * Suppresses one address about one topic.
 *
 * Guarantee: of any number of concurrent requests for one address and topic exactly one returns a row. A topic that is
 * gone, or goes meanwhile, is left alone: mail about it that still waits is refused at its hand-over, and no row is left
 * without a topic.
 *
 * $1 id to give, $2 account, $3 address, $4 topic, $5 created at. Returns the id if the suppression is new.
 */
export const unsubscribe: Statement = {
  name: 'unsubscribe',
  text: `
    insert into suppressions (id, account_id, address, topic_id, origin, created_at)
    select $1, t.account_id, $3, t.id, 'unsubscribe', $5::timestamptz
    from topics t
    where t.id = $4 and t.account_id = $2
    for key share of t
    on conflict (account_id, address, topic_id) do nothing
    returning id`,
};
