/*
 * The record of an experiment, once nothing is outstanding. All times are milliseconds since 1970 on one
 * clock. The key of a delivery is `<event id> <webhook id>`.
 */

export type DeliveryKey = `${string} ${string}`;

export function keyOf(delivery: { readonly eventId: string; readonly webhookId: string }): DeliveryKey {
  return `${delivery.eventId} ${delivery.webhookId}`;
}

/** The end of a cause, as its maker saw it. Unknown: no answer, or one that leaves it open. */
export type CauseOutcome = 'ok' | 'failed' | 'unknown';

/** A line of the producer's log: one cause. */
export interface CauseEntry {
  /** The id of a direct cause, the subject of an email, or the `Message-ID` of a received message. */
  readonly cause: string;
  readonly kind: 'direct' | 'email' | 'message';
  outcome: CauseOutcome;
  /** The event of a direct cause, or the id of an email. Null for a received message. */
  id: string | null;
  readonly beganAtMs: number;
  endedAtMs: number;
}

/** A line of the receivers' log. The log only grows. */
export interface Receipt {
  readonly eventId: string;
  readonly webhookId: string;
  readonly arrivedAtMs: number;
  /** The event id in the body. Null when the body was not read. */
  readonly bodyEventId: string | null;
  readonly bodySha256: string | null;
  /** `valid`, or the reason why not. Null when the body was not read. */
  readonly signature: string | null;
  /** The `t` of the signature, in seconds. */
  readonly signedAt: number | null;
  /** The status that was sent. Null: none. */
  status: number | null;
  /** The time when the network had the answer. Null: never. */
  answeredAtMs: number | null;
}

export interface WebhookEntry {
  readonly webhookId: string;
  readonly accountId: string;
  /** Empty: all types. */
  readonly types: readonly string[];
  readonly createdAtMs: number;
  /** True: its address is not a receiver of the harness, and may be refused. */
  readonly foreign: boolean;
  /** True: deliveries to it may end as dead letters. */
  readonly mayGiveUp: boolean;
  /** The time of its DELETE. Null: not deleted. */
  removed: { readonly beganAtMs: number; readonly endedAtMs: number } | null;
}

export interface FaultEntry {
  readonly name: string;
  readonly atMs: number;
  /** The end of the fault. A request may have arrived since its begin. */
  readonly endedAtMs: number;
  /** True: attempts in flight may be made again because of it. */
  readonly mayRepeat: boolean;
  /** The attempts that were begun and not recorded. */
  readonly inFlight: readonly DeliveryKey[];
  /** The messages that a worker had taken and not recorded. */
  readonly mailInFlight: readonly string[];
  /** The step of Postgres' clock. A step forwards makes waiting deliveries early by this time. */
  readonly clockStepMs?: number;
  /** It restored a copy of Postgres of this time. Later writes are lost. */
  readonly losesSinceMs?: number;
}

export interface StoredEvent {
  readonly id: string;
  readonly accountId: string;
  readonly type: string;
  readonly createdAtMs: number;
  /** `data.email_id` */
  readonly emailId: string | null;
  /** `data.id` of `message.received` and `message.held`. */
  readonly messageId: string | null;
}

export interface StoredAttempt {
  readonly deliveryId: string;
  readonly eventId: string;
  readonly webhookId: string;
  /** The number of the attempt, from 1 in each set. */
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

/** Postgres' rows at the end. */
export interface StoreState {
  readonly causes: readonly { readonly id: string; readonly eventId: string }[];
  readonly emails: readonly { readonly id: string; readonly subject: string; readonly status: string }[];
  /** Received messages. `header` is the `Message-ID`. */
  readonly messages: readonly {
    readonly id: string;
    readonly header: string | null;
    readonly status: string;
  }[];
  readonly events: readonly StoredEvent[];
  readonly attempts: readonly StoredAttempt[];
  readonly deadLetters: readonly StoredDeadLetter[];
  /** The outstanding deliveries. */
  readonly deliveries: readonly { readonly eventId: string; readonly webhookId: string }[];
}

/** The highest use of something with a bound. */
export interface PeakUse {
  readonly what: string;
  readonly unit: 'MiB' | 'files' | 'connections';
  readonly most: number;
  readonly max: number;
}

/** Milliseconds from the cause to the first arrival, at healthy endpoints beside others in trouble. */
export interface NeighbourTimes {
  /** Times before the trouble, in the same run. */
  readonly quietMs: readonly number[];
  readonly troubledMs: readonly number[];
}

export interface Rules {
  readonly retryDelaysMs: readonly number[];
  /** The tolerance for the clocks and timers of two processes. */
  readonly earlyToleranceMs: number;
  /** The longest time from the `t` of a signature to its arrival. */
  readonly signedWithinMs: number;
  /** The longest time from a DELETE's answer to the end of an attempt claimed before. */
  readonly afterRemovalMs: number;
  readonly recoveryMsMax: number;
  /** The limit of p99 during the trouble, divided by p99 before it. */
  readonly neighbourRatioMax: number;
}

export interface History {
  readonly causes: readonly CauseEntry[];
  readonly receipts: readonly Receipt[];
  /** The ids of the messages that the mail provider accepted, once for each time. */
  readonly handOvers: readonly string[];
  readonly webhooks: readonly WebhookEntry[];
  readonly faults: readonly FaultEntry[];
  /** The delivery of each replay that answered 200. */
  readonly replays: readonly DeliveryKey[];
  /** The number of connections to canaries, addresses that must be refused. */
  readonly canaryConnections: number;
  /** From the last healing until all due deliveries were attempted. Null: never. */
  readonly recoveryMs: number | null;
  readonly use: readonly PeakUse[];
  readonly neighbours: readonly NeighbourTimes[];
  readonly store: StoreState;
  readonly rules: Rules;
}

/** One broken invariant. */
export interface Violation {
  readonly invariant: 'I1' | 'I2' | 'I3' | 'I4' | 'I5' | 'I6' | 'I7' | 'I8' | 'I9' | 'I10';
  readonly text: string;
  /** The delivery, when it concerns one. */
  readonly key?: DeliveryKey;
}
