import type { Clock } from './clock.ts';
import { EVENT_DATA, recipientsOf } from './event-data.ts';
import type { EventData } from './event-data.ts';
import type { EventType } from './event-types.ts';
import { newId } from './ids.ts';
import type { AccountId, EventId, RoutingRuleId } from './ids.ts';
import { plainAddresses } from './plain-address.ts';

/** An event for the account's webhooks. */
export type EventDraft = {
  [T in EventType]: {
    readonly type: T;
    readonly accountId: AccountId;
    readonly data: EventData<T>;
    /** The routing rule that accepted the message. Its own endpoints get the event too. */
    readonly inboundRule?: string;
    /** The recipients, when `data` does not name them: see `NewEvent`. Look-ups by recipient use them. */
    readonly recipients?: readonly string[];
  };
}[EventType];

export interface NewEvent {
  readonly id: EventId;
  /** JSON text. */
  readonly data: string;
  /** Each once, as `plainAddress` writes it. */
  readonly recipients: readonly string[];
}

/** Events as the outbox stores them. */
export interface EventBatch {
  readonly accountId: AccountId;
  readonly type: EventType;
  /** Endpoints with this subject match too, beside the account's own endpoints. */
  readonly inboundSubject: string | null;
  /** Every attempt sends the JSON text in `data`. */
  readonly events: readonly NewEvent[];
}

/**
 * The open transaction of an event's cause. Only the store creates one, for the length of a transaction. So
 * no event can be written outside a transaction.
 */
export interface OutboxTransaction {
  /** Writes the events, and a delivery for each event and matching webhook. */
  appendEvents(batch: EventBatch): Promise<void>;
}

/**
 * Writes an event in the transaction of its cause. The event exists exactly when the cause does (contract 1).
 *
 * @throws ZodError when `data` breaks contract 2.3. That is a fault in our code and must undo the cause too.
 */
export async function recordEvent(tx: OutboxTransaction, draft: EventDraft, clock: Clock): Promise<EventId> {
  const { accountId, type, inboundRule, data, recipients } = draft;
  const batch = {
    accountId,
    inboundSubject: inboundRule === undefined ? null : inboundSubject(accountId, inboundRule),
    ...newEvents(type, [data], clock, recipients && [recipients]),
  };
  await tx.appendEvents(batch);
  const [event] = batch.events;
  if (event === undefined) throw new Error('newEvents returned no event');
  return event.id;
}

/**
 * Creates events without writing them, for a cause that writes them in its own SQL statement. That statement
 * must write an event exactly when its cause takes effect.
 *
 * @param recipients of each event, as in `NewEvent`. Default: those that its data names.
 * @throws ZodError as `recordEvent` does.
 */
export function newEvents<T extends EventType>(
  type: T,
  data: readonly EventData<T>[],
  clock: Clock,
  recipients?: readonly (readonly string[])[],
): Pick<EventBatch, 'type' | 'events'> {
  const events = data.map((each, index) => ({
    id: newId('event', clock),
    data: JSON.stringify(EVENT_DATA[type].parse(each)),
    recipients: recipients?.[index] ?? plainAddresses(recipientsOf(each)),
  }));
  return { type, events };
}

/** The subject of a routing rule's own endpoint (contract 2.2). */
export function inboundSubject(accountId: AccountId, rule: string): string {
  return `${accountId}/inbound/${rule}`;
}

/** The routing rule that such a subject names; null for an account's own endpoint, which has none. */
export function ruleOfSubject(subject: string | null): RoutingRuleId | null {
  return (subject?.split('/')[2] ?? null) as RoutingRuleId | null;
}
