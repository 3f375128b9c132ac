import { statement } from '../../db/statement.ts';

/*
 * The locks of a replay, each in a statement of its own, so that the statement after them sees what earlier
 * holders have committed. The order is that of a dead letter's replay: webhook, dead letter, event.
 */

/**
 * Locks a webhook, after a DELETE that is running. $1 account, $2 webhook. No row: there is no such webhook.
 */
export const lockWebhook = statement('lock-webhook')`
    select w.id from webhooks w where w.id = $2 and w.account_id = $1 and w.removed_at is null for key share of w`;

/**
 * Locks the dead letters of events at a webhook. `greatest(l.id, '')` is the id in a form that the primary
 * key does not have: otherwise Postgres may read all letters by that key, to avoid a sort.
 * `greatest(l.webhook_id, '')` is the form of the index by event (decision 0012). $1 webhook, $2 events.
 */
export const lockDeadLetters = statement('lock-dead-letters')`
    select l.id from dead_letters l where l.event_id = any ($2::text[]) and greatest(l.webhook_id, '') = $1
    order by greatest(l.id, '') for update of l`;

/** Locks events, so that two replays run in turn and retention skips the events. $1 account, $2 events. */
export const lockEvents = statement('lock-events')`
    select e.id from events e where e.id = any ($2::text[]) and greatest(e.account_id, '') = $1
    order by e.id for no key update of e`;

/** $1 event, $2 webhook. */
export const queueDelivery = statement('queue-delivery')`
    insert into deliveries (event_id, webhook_id) values ($1, $2)`;
