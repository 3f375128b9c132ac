import type { AccountId, EventBatch } from '@postrider/domain';

/** Events as a statement takes them; without an account it finds out whose the cause is. */
export type EventsOfCause = Omit<EventBatch, 'accountId'> & { readonly accountId: AccountId | null };

/**
 * The CTEs that write a cause's events, and for each of them one delivery for each webhook that matches. This is the only
 * text that inserts into `events`: `record-events` has it in a statement of its own, causes that need no other statement
 * have it in theirs.
 *
 * Guarantee: the webhooks are locked once all rows of `source` are known, so behind every row that the cause's CTEs lock.
 * The array of accounts asks for all of them: a CTE that writes gives its first row before it has written the next. A webhook that a
 * concurrent DELETE has removed is skipped, never an error. One that is being removed is left out; if it was marked after the
 * statement began, its deliveries go with it. One that is locked here stays until the cause has committed, and the DELETE
 * then finds the deliveries.
 *
 * $1 event ids, $2 account, $3 type, $4 created at, $5 data (JSON text), one for each id, $6 inbound subject or null:
 * `eventValues` gives them. The webhooks that got deliveries are in `matching`, each once, as `id`.
 *
 * @param source a CTE with `id`, `account_id` and `data` of the events that are to exist; without a row nothing is written.
 */
export function eventCtes(source: string): string {
  return `
    written as (
      insert into events (id, account_id, type, created_at, data)
      select e.id, e.account_id, $3::text, $4::timestamptz, e.data
      from ${source} e
    ),
    matching as materialized (
      select w.id, w.account_id
      from webhooks w
      where w.account_id = any (array(select account_id from ${source}))
        and w.removed_at is null
        and (w.events = '{}' or $3::text = any (w.events))
        and (w.subject is null or w.subject = $6::text)
      for key share of w
    ),
    told as (
      insert into deliveries (event_id, webhook_id)
      select e.id, m.id
      from ${source} e join matching m using (account_id)
    )`;
}

/** What `eventCtes` takes as $1 to $6. */
export function eventValues({
  accountId,
  type,
  createdAt,
  inboundSubject,
  events,
}: EventsOfCause): unknown[] {
  return [
    events.map(({ id }) => id),
    accountId,
    type,
    createdAt.toISOString(),
    events.map(({ data }) => data),
    inboundSubject,
  ];
}
