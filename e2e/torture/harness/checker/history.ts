/*
 * Everything that is known of an experiment once the system has come to rest. All times are milliseconds since 1970 on
 * one clock; a delivery is named by its key, `<event id> <webhook id>`.
 */

export type DeliveryKey = `${string} ${string}`;

export function keyOf(delivery: { readonly eventId: string; readonly webhookId: string }): DeliveryKey {
  return `${delivery.eventId} ${delivery.webhookId}`;
}

/** How a cause ended, as its maker saw it. Unknown: no answer, or one that leaves both open. */
export type CauseOutcome = 'ok' | 'failed' | 'unknown';

/** The producer's log: one line for each cause it tried. */
export interface CauseEntry {
  /** Of a cause of the harness its id; of an email its subject; of a message that came in its `Message-ID`. */
  readonly cause: string;
  readonly kind: 'direct' | 'email' | 'message';
  outcome: CauseOutcome;
  /** What the answer named: the event of a direct cause, the id of an email; null of a message that came in. */
  id: string | null;
  readonly beganAtMs: number;
  endedAtMs: number;
}

/** A line of the receivers' log, which is only ever added to. */
export interface Receipt {
  readonly eventId: string;
  readonly webhookId: string;
  readonly arrivedAtMs: number;
  /** What the body says; null when it was not read. */
  readonly bodyEventId: string | null;
  readonly bodySha256: string | null;
  /** `valid`, or why not; null when the body was not read. */
  readonly signature: string | null;
  /** The `t` of the signature, in seconds. */
  readonly signedAt: number | null;
  /** The status line that was sent; null: none was. */
  status: number | null;
  /** When the answer had been handed to the network; null: it never was. */
  answeredAtMs: number | null;
}

export interface WebhookEntry {
  readonly webhookId: string;
  readonly accountId: string;
  /** Empty: all. */
  readonly types: readonly string[];
  readonly createdAtMs: number;
  /** Its address is not the harness's own: it may be refused. */
  readonly foreign: boolean;
  /** From when until when its DELETE took; null: it stands. */
  removed: { readonly beganAtMs: number; readonly endedAtMs: number } | null;
}

export interface FaultEntry {
  readonly name: string;
  readonly atMs: number;
  /** When it was done: a request that left right before may have arrived in between. */
  readonly endedAtMs: number;
  /** Whether attempts that were in flight may be made again because of it. */
  readonly mayRepeat: boolean;
  /** The attempts begun and not recorded when it struck. */
  readonly inFlight: readonly DeliveryKey[];
  /** By so much it stepped the clock of Postgres: forwards, what waits for its time comes early by that. */
  readonly clockStepMs?: number;
  /** It put a copy of that moment in the place of Postgres: what was written since is lost. */
  readonly losesSinceMs?: number;
}

export interface StoredEvent {
  readonly id: string;
  readonly accountId: string;
  readonly type: string;
  readonly createdAtMs: number;
  /** `data.email_id` */
  readonly emailId: string | null;
  /** Of `message.received` and `message.held`: `data.id`. */
  readonly messageId: string | null;
}

export interface StoredAttempt {
  readonly deliveryId: string;
  readonly eventId: string;
  readonly webhookId: string;
  /** From 1 in each set. */
  readonly attempt: number;
  readonly startedAtMs: number;
  readonly durationMs: number;
  readonly status: number | null;
}

export interface StoredDeadLetter {
  readonly eventId: string;
  readonly webhookId: string;
  readonly lastError: string;
}

/** What Postgres held at the end. */
export interface StoreState {
  readonly causes: readonly { readonly id: string; readonly eventId: string }[];
  readonly emails: readonly { readonly id: string; readonly subject: string; readonly status: string }[];
  /** That came in; `header` is the `Message-ID`. */
  readonly messages: readonly {
    readonly id: string;
    readonly header: string | null;
    readonly status: string;
  }[];
  readonly events: readonly StoredEvent[];
  readonly attempts: readonly StoredAttempt[];
  readonly deadLetters: readonly StoredDeadLetter[];
  /** Still outstanding. */
  readonly deliveries: readonly { readonly eventId: string; readonly webhookId: string }[];
}

/** The most that was seen of something that must stay within bounds, whatever happens. */
export interface PeakUse {
  readonly what: string;
  readonly unit: 'MiB' | 'files' | 'connections';
  readonly most: number;
  readonly max: number;
}

/** Healthy endpoints beside others in trouble: from the cause to the first arrival, in milliseconds. */
export interface NeighbourTimes {
  /** Before the trouble, in the same run. */
  readonly quietMs: readonly number[];
  readonly troubledMs: readonly number[];
}

export interface Rules {
  readonly retryDelaysMs: readonly number[];
  /** Of the clocks of two processes of one machine, and of the timers between them. */
  readonly earlyToleranceMs: number;
  /** Between the `t` of a signature and its arrival. */
  readonly signedWithinMs: number;
  /** From a DELETE's answer until the last attempt that had been claimed before has ended. */
  readonly afterRemovalMs: number;
  readonly recoveryMsMax: number;
  /** How many times the 99th percentile of the quiet phase that of the trouble may be. */
  readonly neighbourRatioMax: number;
}

export interface History {
  readonly causes: readonly CauseEntry[];
  readonly receipts: readonly Receipt[];
  readonly webhooks: readonly WebhookEntry[];
  readonly faults: readonly FaultEntry[];
  /** A line for each replay that answered 200. */
  readonly replays: readonly DeliveryKey[];
  /** Connections that reached a canary, an address that must be refused. */
  readonly canaryConnections: number;
  /** Until everything that was due when the last fault had healed was attempted. Null: it never was. */
  readonly recoveryMs: number | null;
  readonly use: readonly PeakUse[];
  readonly neighbours: readonly NeighbourTimes[];
  readonly store: StoreState;
  readonly rules: Rules;
}

/** One thing that must not be. */
export interface Violation {
  readonly invariant: 'I1' | 'I2' | 'I3' | 'I4' | 'I5' | 'I6' | 'I7' | 'I8' | 'I9' | 'I10';
  readonly text: string;
  /** The delivery it happened to, if it did to one. */
  readonly key?: DeliveryKey;
}
