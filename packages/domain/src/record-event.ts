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

/** Account, type and subject. All events of a batch share them. */
type EventKind<T extends EventType> = Pick<EventDraft, 'accountId' | 'inboundRule'> & { readonly type: T };

/** Events as the outbox keeps them. */
export interface EventBatch {
  readonly accountId: AccountId;
  readonly type: EventType;
  readonly createdAt: Date;
  /** Besides the account's own endpoints, those with this subject match. */
  readonly inboundSubject: string | null;
  /** `data` is the JSON text that every attempt will send. */
  readonly events: readonly { readonly id: EventId; readonly data: string }[];
}

/**
 * The open transaction of a cause. Only the store makes one, and only for the length of a transaction:
 * that is why an event cannot be written outside of one.
 */
export interface OutboxTransaction {
  /** Writes the events and, for each of them, one delivery for each webhook that matches. */
  appendEvents(batch: EventBatch): Promise<void>;
}

/**
 * Writes an event in its cause's own transaction: it exists exactly when the cause does (contract 1).
 *
 * @throws ZodError when `data` is not what contract 2.3 states for the type: a fault in our own code, which
 *   must undo the cause as well.
 */
export async function recordEvent(tx: OutboxTransaction, draft: EventDraft, clock: Clock): Promise<EventId> {
  const [id] = await recordEvents(tx, draft, [draft.data], clock);
  if (id === undefined) throw new Error('an event has an id');
  return id;
}

/** As `recordEvent`, for any number of events of one kind, in one round trip. @returns their ids, in the order of `data`. */
export async function recordEvents<T extends EventType>(
  tx: OutboxTransaction,
  { accountId, type, inboundRule }: EventKind<T>,
  data: readonly EventData<T>[],
  clock: Clock,
): Promise<EventId[]> {
  const batch = {
    accountId,
    inboundSubject: inboundRule === undefined ? null : inboundSubject(accountId, inboundRule),
    ...newEvents(type, data, clock),
  };
  await tx.appendEvents(batch);
  return batch.events.map(({ id }) => id);
}

/**
 * Events that are not written yet, for a cause whose own statement writes them. Whoever makes them writes those whose cause
 * came to be, in that statement, and no others.
 *
 * @throws ZodError as `recordEvent` does.
 */
export function newEvents<T extends EventType>(
  type: T,
  data: readonly EventData<T>[],
  clock: Clock,
): Pick<EventBatch, 'type' | 'createdAt' | 'events'> {
  const events = data.map((each) => ({
    id: newId('event', clock),
    data: JSON.stringify(EVENT_DATA[type].parse(each)),
  }));
  return { type, createdAt: clock.now(), events };
}
