import type { Statement } from '../statement.ts';

/**
 * Writes an event and one delivery for each webhook that matches it by account, type and subject.
 *
 * Guarantee: run in the cause's transaction. A webhook that a concurrent DELETE has removed is skipped, never an
 * error; one that is being removed is left out; one that is locked here stays until the cause has committed, and the DELETE then finds the deliveries.
 *
 * $1 event id, $2 account, $3 type, $4 created at, $5 data (JSON text), $6 inbound subject or null.
 * Returns the webhooks that got a delivery.
 */
export const recordEvent: Statement = {
  name: 'record-event',
  text: `
    with event as (
      insert into events (id, account_id, type, created_at, data)
      values ($1, $2, $3, $4::timestamptz, $5)
    ),
    matching as materialized (
      select w.id
      from webhooks w
      where w.account_id = $2
        and w.removed_at is null
        and (w.events = '{}' or $3 = any (w.events))
        and (w.subject is null or w.subject = $6::text)
      for key share of w
    )
    insert into deliveries (event_id, webhook_id)
    select $1, m.id from matching m
    returning webhook_id`,
};
