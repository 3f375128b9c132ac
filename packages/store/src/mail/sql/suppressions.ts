import { eventCtes } from '../../db/sql/event-ctes.ts';
import type { Statement } from '../../db/statement.ts';

/**
 * The order in which every statement locks suppressions, so that no two statements deadlock: by address, then
 * by topic.
 *
 * Bytes are compared, because the database's own collation differs between installations.
 *
 * @param columns the column of the address and, if rows about topics may be among them, of the topic
 */
export function lockOrder(...columns: readonly [address: string, topic?: string]): string {
  return columns.map((column) => `${column} collate "C"`).join(', ');
}

/**
 * Suppresses addresses by an account's own hand, about anything, with an event for each that is new. One that is
 * suppressed already stays as it is.
 *
 * Guarantee: one statement, its own transaction: every new suppression with its event and deliveries, or nothing. Of any
 * number of concurrent additions of one address exactly one makes it, and its event; the others wait for it. Rows are locked
 * in the order of `lockOrder`, then the webhooks.
 *
 * The no-op update on conflict makes a row come back that another transaction has committed meanwhile. A row is new where
 * it has the id that was given.
 *
 * $1 to $6 as `eventCtes` has them, the events in the order of the addresses; $7 addresses, each once, $8 ids to give,
 * $9 created at. Returns one row: of each address, in any order, the id; and the webhooks that got deliveries.
 */
export const addSuppressions: Statement = {
  name: 'add-suppressions',
  text: `
    with wished as materialized (
      select w.event_id, w.data, w.address, w.id
      from unnest($1::text[], $5::text[], $7::text[], $8::text[]) as w (event_id, data, address, id)
    ),
    added as (
      insert into suppressions as s (id, account_id, address, origin, created_at)
      select w.id, $2::text, w.address, 'manual'::suppression_origin, $9::timestamptz
      from wished w
      order by ${lockOrder('w.address')}
      on conflict (account_id, address, topic_id) do update set address = s.address
      returning s.id, s.address
    ),
    fresh as materialized (
      select w.event_id as id, $2::text as account_id, w.data
      from added a join wished w using (id)
    ),
    ${eventCtes('fresh')}
    select json_agg(a.address) as addresses, json_agg(a.id) as ids,
           array_to_json(array(select m.id from matching m)) as webhooks
    from added a`,
};

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

/**
 * Removes the suppressions about one topic.
 *
 * Guarantee: rows are locked in the order of `lockOrder`. Run once the topic is gone, so that no more can come.
 *
 * $1 topic.
 */
export const removeSuppressionsOfTopic: Statement = {
  name: 'remove-suppressions-of-topic',
  text: `
    with mine as materialized (
      select s.id
      from suppressions s
      where s.topic_id = $1 and s.topic_id <> ''
      order by ${lockOrder('s.address', 's.topic_id')}
      for update
    )
    delete from suppressions s using mine where s.id = mine.id`,
};

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
