import type { Clock } from './clock.ts';
import { EVENT_DATA } from './event-data.ts';
import type { EventData } from './event-data.ts';
import type { EventType } from './event-types.ts';
import { newId } from './ids.ts';
import type { AccountId, EventId } from './ids.ts';
import { inboundSubject } from './subject.ts';

/** What happened, to be told to the account's webhooks. */
export type EventDraft = {
  [T in EventType]: {
    readonly type: T;
    readonly accountId: AccountId;
    readonly data: EventData<T>;
    /** The inbound routing rule that took the message in; its own endpoints are told as well. */
    readonly inboundRule?: string;
  };
}[EventType];

/** An event as the outbox keeps it. `data` is the JSON text that every attempt will send. */
export interface EventRecord {
  readonly id: EventId;
  readonly accountId: AccountId;
  readonly type: EventType;
  readonly createdAt: Date;
  readonly data: string;
  /** Besides the account's own endpoints, those with this subject match. */
  readonly inboundSubject: string | null;
}

/**
 * The open transaction of a cause. Only the store makes one, and only for the length of a transaction:
 * that is why an event cannot be written outside of one.
 */
export interface OutboxTransaction {
  /** Writes the event and one delivery for each webhook that matches it. */
  appendEvent(event: EventRecord): Promise<void>;
}

/**
 * Writes an event in its cause's own transaction: it exists exactly when the cause does (contract 1).
 *
 * @throws ZodError when `data` is not what contract 2.3 states for the type: a fault in our own code, which
 *   must undo the cause as well.
 */
export async function recordEvent(tx: OutboxTransaction, draft: EventDraft, clock: Clock): Promise<EventId> {
  const data = EVENT_DATA[draft.type].parse(draft.data);
  const event: EventRecord = {
    id: newId('event', clock),
    accountId: draft.accountId,
    type: draft.type,
    createdAt: clock.now(),
    data: JSON.stringify(data),
    inboundSubject:
      draft.inboundRule === undefined ? null : inboundSubject(draft.accountId, draft.inboundRule),
  };
  await tx.appendEvent(event);
  return event.id;
}
