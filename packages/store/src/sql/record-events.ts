import type { Statement } from '../statement.ts';

/**
 * Writes events of one account, type and subject, and for each of them one delivery for each webhook that matches.
 *
 * Guarantee: run in the cause's transaction. A webhook that a concurrent DELETE has removed is skipped, never an
 * error; one that is being removed is left out; one that is locked here stays until the cause has committed, and the DELETE then finds the deliveries.
 *
 * $1 event ids, $2 account, $3 type, $4 created at, $5 data (JSON text), one for each id, $6 inbound subject or null.
 * Returns the webhooks that got deliveries, each once.
 */
export const recordEvents: Statement = {
  name: 'record-events',
  text: `
    with written as (
      insert into events (id, account_id, type, created_at, data)
      select e.id, $2::text, $3::text, $4::timestamptz, e.data
      from unnest($1::text[], $5::text[]) as e (id, data)
    ),
    matching as materialized (
      select w.id
      from webhooks w
      where w.account_id = $2
        and w.removed_at is null
        and (w.events = '{}' or $3 = any (w.events))
        and (w.subject is null or w.subject = $6::text)
      for key share of w
    ),
    told as (
      insert into deliveries (event_id, webhook_id)
      select e.id, m.id
      from unnest($1::text[]) as e (id), matching m
    )
    select m.id as webhook_id from matching m`,
};
