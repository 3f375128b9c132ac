import { eventCtes, WOKEN_WEBHOOKS } from '../../db/sql/event-ctes.ts';
import { statement } from '../../db/statement.ts';
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
 * Suppresses addresses for all mail, at the account's request, with an event for each new suppression. An
 * existing suppression stays as it is.
 *
 * Guarantee: every new suppression is written with its event and deliveries, or nothing is. When requests add
 * one address at the same time, one request creates the suppression and its event. The other requests wait.
 * Rows are locked in the order of `lockOrder`, then the webhooks.
 *
 * The no-op update on conflict returns a row that another transaction has committed meanwhile. A row is new
 * when it has the given id.
 *
 * $1 to $6 as in `eventCtes`, with the events in the order of the addresses; $7 addresses, each once, $8 ids
 * for new suppressions. Returns one row: the addresses in any order, the id of each, and the webhooks to
 * wake.
 */
export const addSuppressions = statement('add-suppressions')`
    with wished as materialized (
      select w.event_id, w.data, w.recipients, w.address, w.id
      from unnest($1::text[], $4::text[], $6::json[], $7::text[], $8::text[])
        as w (event_id, data, recipients, address, id)
    ),
    added as (
      insert into suppressions as s (id, account_id, address, origin, created_at)
      select w.id, $2::text, w.address, 'manual'::suppression_origin, now()
      from wished w
      order by ${lockOrder('w.address')}
      on conflict (account_id, address, topic_id) do update set address = s.address
      returning s.id, s.address
    ),
    fresh as materialized (
      select w.event_id as id, $2::text as account_id, w.data, w.recipients
      from added a join wished w using (id)
    ),
    ${eventCtes('fresh')}
    select json_agg(a.address) as addresses, json_agg(a.id) as ids,
           array_to_json(array(${WOKEN_WEBHOOKS})) as webhooks
    from added a`;

/**
 * A page of an account's suppressions with one origin. There may be few of these among many others.
 *
 * Guarantee: it reads as many rows as the page has, whatever the table statistics say. Only one index is on
 * `greatest(s.account_id, '')`.
 *
 * $1 account, $2 origin, $3 and $4 time and id of the cursor, $5 number of suppressions.
 */
function pageOfOrigin(name: string, beyond: '<' | '>', order: 'desc' | 'asc'): Statement {
  return statement(name)`
    select s.id, s.address, s.topic_id as "topicId", s.origin, s.email_id as "emailId", s.created_at as "createdAt"
    from suppressions s
    where greatest(s.account_id, '') = $1 and s.origin = $2::suppression_origin
      and (s.created_at, s.id) ${beyond} ($3::timestamptz, $4::text)
    order by s.created_at ${order}, s.id ${order}
    limit $5`;
}

export const suppressionsOfOriginAfter = pageOfOrigin('suppressions-of-origin-after', '<', 'desc');
export const suppressionsOfOriginBefore = pageOfOrigin('suppressions-of-origin-before', '>', 'asc');

/**
 * Removes suppressions by id. An address removes its suppression for all mail, which has the topic ''.
 *
 * Guarantee: it removes all suppressions that it finds, or none. It removes none when one was caused by a
 * complaint and there is no reason. The reason is stored for each suppression that a complaint caused. When
 * requests remove one suppression at the same time, only one request gets it as removed. Rows are locked in
 * the order of `lockOrder`.
 *
 * Ids and addresses have a branch each: for `or` Postgres reads all suppressions of the account. The account
 * beside the ids is in a form that no index has.
 *
 * $1 account, $2 ids, $3 addresses, $4 reason or null. Returns the suppressions that it found; `removed` is
 * true for those that it removed.
 */
export const removeSuppressions = statement('remove-suppressions')`
    with found as materialized (
      select s.id, s.address, s.origin
      from suppressions s
      where s.id = any (array(
        select c.id from suppressions c where c.id = any ($2::text[]) and (c.account_id = $1) is true
        union all
        select c.id from suppressions c where c.account_id = $1 and c.address = any ($3::text[]) and c.topic_id = ''))
      order by ${lockOrder('s.address', 's.topic_id')}
      for update
    ),
    gone as (
      delete from suppressions s
      where s.id = any (array(select id from found))
        and ($4::text is not null or not exists (select from found f where f.origin = 'complaint'))
      returning s.id
    ),
    reasons as (
      insert into removed_complaints (suppression_id, account_id, address, reason, removed_at)
      select found.id, $1, found.address, $4, now()
      from found join gone using (id)
      where found.origin = 'complaint'
    )
    select found.id, gone.id is not null as removed
    from found left join gone using (id)`;

/**
 * Removes the suppressions for one topic.
 *
 * Guarantee: rows are locked in the order of `lockOrder`. Run it after the topic is deleted: then no
 * suppression is added meanwhile. `topic_id <> ''` is the condition of the index.
 *
 * $1 topic.
 */
export const removeSuppressionsOfTopic = statement('remove-suppressions-of-topic')`
    with mine as materialized (
      select s.id
      from suppressions s
      where s.topic_id = $1 and s.topic_id <> ''
      order by ${lockOrder('s.address', 's.topic_id')}
      for update
    )
    delete from suppressions s where s.id = any (array(select id from mine))`;

/**
 * Suppresses one address for one topic, with its event.
 *
 * Guarantee: it writes the suppression with its event and deliveries, or nothing. When requests suppress one
 * address for one topic at the same time, exactly one gets a row. For a deleted topic nothing is written, so
 * no suppression is left without its topic. The worker does not send queued mail about a deleted topic.
 *
 * A repetition locks and writes nothing, so its commit does not wait for the disk.
 *
 * $1 to $6 as in `eventCtes`, with one event; $7 address, $8 id, $9 topic. Returns a row if the
 * suppression is new: the webhooks to wake.
 */
export const unsubscribe = statement('unsubscribe')`
    with added as (
      insert into suppressions (id, account_id, address, topic_id, origin, created_at)
      select $8::text, t.account_id, $7::text, t.id, 'unsubscribe', now()
      from topics t
      where t.id = $9::text and t.account_id = $2::text
        and not exists (
          select from suppressions s where s.account_id = $2::text and s.address = $7::text and s.topic_id = $9::text
        )
      for key share of t
      on conflict (account_id, address, topic_id) do nothing
      returning id
    ),
    fresh as materialized (
      select e.id, $2::text as account_id, e.data, e.recipients
      from added, unnest($1::text[], $4::text[], $6::json[]) as e (id, data, recipients)
    ),
    ${eventCtes('fresh')}
    select array(${WOKEN_WEBHOOKS}) as webhooks from added`;
