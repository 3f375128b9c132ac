import { eventCtes } from '../../db/sql/event-ctes.ts';
import type { Statement } from '../../db/statement.ts';

/**
 * Suppresses one address about one topic, with its event.
 *
 * Guarantee: one statement, its own transaction: the suppression with its event and deliveries, or nothing. Of any number of
 * concurrent requests for one address and topic exactly one returns a row. A topic that is gone, or goes meanwhile, is left
 * alone: mail about it that still waits is refused at its hand-over, and no row is left without a topic.
 *
 * $1 to $6 as `eventCtes` has them, one event; $7 address, $8 id to give, $9 created at, $10 topic. Returns a row if the
 * suppression is new: the webhooks that got deliveries.
 */
export const unsubscribe: Statement = {
  name: 'unsubscribe',
  text: `
    with added as (
      insert into suppressions (id, account_id, address, topic_id, origin, created_at)
      select $8::text, t.account_id, $7::text, t.id, 'unsubscribe', $9::timestamptz
      from topics t
      where t.id = $10::text and t.account_id = $2::text
      for key share of t
      on conflict (account_id, address, topic_id) do nothing
      returning id
    ),
    fresh as materialized (
      select e.id, $2::text as account_id, e.data
      from added, unnest($1::text[], $5::text[]) as e (id, data)
    ),
    ${eventCtes('fresh')}
    select array(select m.id from matching m) as webhooks from added`,
};
