import type { AccountId, EventBatch } from '@postrider/domain';
import { isOfDomains } from './event-domains.ts';

/**
 * Events as a statement takes them. With a null account, the statement itself finds the account of the cause.
 */
export type EventsOfCause = Omit<EventBatch, 'accountId'> & { readonly accountId: AccountId | null };

/**
 * An SQL expression: the key by which an account's events are found by recipient. The account is in it, so
 * that no account's events slow the look-ups of another.
 */
export function recipientKey(account: string, address: string): string {
  return textKey(`${account} || ' ' || ${address}`);
}

/** An SQL expression: 8 bytes that stand for a text in an index. */
export function textKey(text: string): string {
  return `('x' || left(encode(sha256(convert_to(${text}, 'UTF8')), 'hex'), 16))::bit(64)::bigint`;
}

/**
 * The CTEs that write the events of a cause, and one delivery for each event and matching webhook. Besides
 * replays, only this text inserts into `events`. `record-events` runs it as its own statement. A cause that
 * is one statement includes it.
 *
 * Guarantee, lock order: the webhooks are locked after every row that the cause's CTEs lock. The array of
 * accounts forces this: it needs all rows of `source`, while a CTE that writes returns its first row before
 * it has written the next.
 *
 * Guarantee, removal: a webhook that a concurrent DELETE has removed is skipped, never an error. A webhook
 * that is marked as removed gets nothing. If it was marked after the statement began, its new deliveries are
 * removed with it. The DELETE of a webhook that is locked here waits for the cause, and then finds the
 * deliveries.
 *
 * A webhook is locked only if one of the events in $4 belongs to its domains: an account may have 10,000
 * webhooks with one domain each. A webhook's domains never change, so the check needs no lock. If $4 has one
 * event, each locked webhook gets it. If no webhook has domains, Postgres does not read the events' domains.
 *
 * Guarantee, time: Postgres dates the events, because their times are compared across hosts. The time is that
 * of the statement. So an event is dated after the creation of every webhook that gets it, and before its
 * position is given.
 *
 * $1 event ids, $2 account, $3 type, $4 data (JSON text) of each event, $5 subject of a routing rule, or
 * null, $6 recipients of each event (a JSON list). `eventValues` makes these values.
 * `WOKEN_WEBHOOKS` has the webhooks to wake.
 *
 * @param source a CTE with `id`, `account_id`, `data` and `recipients` of the events to write. Without a row,
 * nothing is written.
 */
export function eventCtes(source: string): string {
  return `
    written as (
      insert into events (id, account_id, type, created_at, data, recipients)
      select e.id, e.account_id, $3::text, statement_timestamp(), e.data,
             (select array_agg(${recipientKey('e.account_id', 'r.address')})
              from json_array_elements_text(e.recipients) r (address))
      from ${source} e
      returning id, position, recipients
    ),
    further_recipients as (
      insert into event_recipients (key, type, position, event_id)
      select k.key, $3::text, n.position, n.id
      from written n, unnest(n.recipients[2:]) k (key)
    ),
    matching as materialized (
      select w.id, w.account_id, w.domains
      from webhooks w
      where w.account_id = any (array(select account_id from ${source}))
        and w.removed_at is null
        and (w.events = '{}' or $3::text = any (w.events))
        and (w.subject is null or w.subject = $5::text)
        and (w.domains is null or w.domains && (select domains_of_events($4::text[])))
      for key share of w
    ),
    event_deliveries as (
      insert into deliveries (event_id, webhook_id)
      select e.id, m.id
      from ${source} e join matching m using (account_id)
      where cardinality($4::text[]) = 1 or ${isOfDomains('e.data', 'm.domains')}
    )`;
}

/**
 * A query for the webhooks to wake, each once: every webhook that got a delivery. It may also have a webhook
 * that got none: the only event of its domains was not written, or is of another account.
 */
export const WOKEN_WEBHOOKS = 'select m.id from matching m';

/** The values $1 to $6 of `eventCtes`. */
export function eventValues({ accountId, type, inboundSubject, events }: EventsOfCause): unknown[] {
  return [
    events.map(({ id }) => id),
    accountId,
    type,
    events.map(({ data }) => data),
    inboundSubject,
    events.map(({ recipients }) => JSON.stringify(recipients)),
  ];
}
