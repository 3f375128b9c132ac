import type { Statement } from '../../db/statement.ts';

/** What a replay may be narrowed by, beside its webhook and its moment: columns of `dead_letters_of_webhook_by_age`. */
export type ReplayFilter = 'type' | 'reason';

/**
 * Replays many dead letters of a webhook, the oldest first, each as replay-dead-letter does it.
 *
 * Guarantee: each letter is replayed once. Of concurrent replays each takes others: a letter that another holds is
 * passed over, so nobody waits. Events are written in the order of their ids: two webhooks may replay the same ones.
 *
 * Cost: rows are read for what is replayed. A letter of another type or reason is passed over inside the index, and what
 * remains is counted there. Each set of filters has a statement of its own: Postgres looks a condition that may be
 * absent up in the row.
 *
 * $1 account, $2 webhook, $3 and $4 the moment and the id of the first letter that is left out, $5 how many at the most,
 * $6 and on a value for each filter. Returns how many were replayed and how many match that were not; no row when the
 * account has no such webhook.
 */
export function replayDeadLetters(filters: readonly ReplayFilter[]): Statement {
  const narrowed = filters.map((column, index) => `and d.${column} = $${index + 6}`).join(' ');
  const matching = `(d.created_at, d.id) < ($3::timestamptz, $4::text) ${narrowed}`;
  return {
    name: ['replay-dead-letters', ...filters].join('-by-'),
    text: `
    with webhook as materialized (
      select w.id from webhooks w where w.id = $2 and w.account_id = $1 and w.removed_at is null for key share of w
    ),
    chosen as materialized (
      select d.id from dead_letters d
      where d.webhook_id = (select id from webhook) and ${matching}
      order by d.created_at, d.id
      limit $5
      for update of d skip locked
    ),
    letters as (
      delete from dead_letters d where d.id = any (array(select id from chosen))
      returning d.id, d.created_at, d.webhook_id, d.event_id, d.account_id, d.type, d.event_created_at, d.data
    ),
    event as (
      insert into events (id, account_id, type, created_at, data)
      select distinct on (event_id) event_id, account_id, type, event_created_at, data from letters order by event_id
      on conflict (id) do update set type = excluded.type
    ),
    queued as (
      insert into deliveries (event_id, webhook_id)
      select event_id, webhook_id from letters order by created_at, id
      returning id
    )
    select (select count(*) from queued)::int as replayed,
           ((select count(*) from dead_letters d where d.webhook_id = webhook.id and ${matching})
             - (select count(*) from letters))::int as remaining
    from webhook`,
  };
}
