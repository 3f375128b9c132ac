import type {
  AccountId,
  DeadLetterId,
  DeadLetterReason,
  EventId,
  EventType,
  WebhookId,
} from '@postrider/domain';

/**
 * Time in the model is counted in units, and moves in whole ticks. Every delay and lease is a multiple of the unit, and
 * a run takes far less real time than one: so the seconds that really pass change nothing.
 */
export const UNIT_SECONDS = 150;
export const UNITS_PER_TICK = 2;
export const LEASE_UNITS = 2;
export const LOOK_AHEAD_UNITS = 4;

export interface WebhookState {
  readonly accountId: AccountId;
  /** Empty: every type. */
  readonly events: readonly EventType[];
  readonly subject: string | null;
}

export interface EventState {
  readonly accountId: AccountId;
  readonly type: EventType;
  readonly data: string;
  /** Past its days: retention drops it when nothing is outstanding. */
  readonly old: boolean;
}

/** A row of `deliveries`. Times are in units since the run began. */
export interface DeliveryState {
  readonly eventId: EventId;
  readonly webhookId: WebhookId;
  readonly claim: number;
  readonly attempts: number;
  readonly lastStatus: number | null;
  readonly dueAt: number;
  readonly leasedUntil: number | null;
  readonly takenAt: number | null;
}

export interface LetterState {
  readonly eventId: EventId;
  readonly webhookId: WebhookId;
  readonly attempts: number;
  readonly reason: DeadLetterReason;
  readonly lastError: string;
  readonly statusCode: number | null;
}

export type End = 'done' | 'dead' | 'dropped';

/** What the protocol says that Postgres holds. Values are replaced, never changed. */
export interface State {
  readonly now: number;
  readonly webhooks: Map<WebhookId, WebhookState>;
  /** Every event there ever was; retention may have dropped its row. */
  readonly events: Map<EventId, EventState>;
  readonly storedEvents: Set<EventId>;
  readonly deliveries: Map<string, DeliveryState>;
  readonly letters: Map<DeadLetterId, LetterState>;
  /** The attempt log: delivery, number, status and error of each. */
  readonly log: string[];
  /** What became of each delivery that is no longer outstanding. */
  readonly ends: Map<string, End>;
  /** How often each event was queued for each webhook: once, and again for every replay. */
  readonly sets: Map<string, number>;
}

export function emptyState(): State {
  return {
    now: 0,
    webhooks: new Map(),
    events: new Map(),
    storedEvents: new Set(),
    deliveries: new Map(),
    letters: new Map(),
    log: [],
    ends: new Map(),
    sets: new Map(),
  };
}

export function copyOf(state: State): State {
  return {
    now: state.now,
    webhooks: new Map(state.webhooks),
    events: new Map(state.events),
    storedEvents: new Set(state.storedEvents),
    deliveries: new Map(state.deliveries),
    letters: new Map(state.letters),
    log: [...state.log],
    ends: new Map(state.ends),
    sets: new Map(state.sets),
  };
}

export function pairOf(eventId: EventId, webhookId: WebhookId): string {
  return `${eventId} for ${webhookId}`;
}

export function isFree(delivery: DeliveryState, now: number): boolean {
  return delivery.leasedUntil === null || delivery.leasedUntil <= now;
}

export function logLine(
  deliveryId: string,
  attempt: number,
  status: number | null,
  error: string | null,
): string {
  return `${deliveryId}: attempt ${attempt}, status ${status ?? 'none'}, ${error ?? 'no error'}`;
}
