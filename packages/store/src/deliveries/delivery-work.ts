import type {
  DeadLetterId,
  DeadLetterReason,
  EventId,
  EventType,
  SealedSecret,
  WebhookId,
} from '@postrider/domain';
import type { Pool } from 'pg';
import { runOn } from '../db/database.ts';
import { endOrphans } from './sql/end-orphans.ts';
import { finishDead } from './sql/finish-dead.ts';
import { finishDone } from './sql/finish-done.ts';
import { finishRetry } from './sql/finish-retry.ts';
import { markHealth } from './sql/mark-health.ts';
import { takeDeliveries } from './sql/take-deliveries.ts';

/** A delivery by the hand-over a job was made for. */
export interface DeliveryClaim {
  readonly deliveryId: string;
  readonly claim: number;
}

/**
 * The fence of an outcome. A restore or a failover can give an id, and so a claim, to another event's row. The ids of
 * event and webhook are random: they never name another.
 */
export interface HeldDelivery extends DeliveryClaim {
  readonly eventId: EventId;
  readonly webhookId: WebhookId;
}

/** A delivery that a worker has taken, with all that an attempt needs. */
export interface TakenDelivery extends HeldDelivery {
  /** Attempts of this set that were made before. */
  readonly attemptsMade: number;
  readonly eventType: EventType;
  readonly eventCreatedAt: Date;
  readonly eventData: string;
  readonly subject: string;
  readonly endpoint: string;
  readonly secret: SealedSecret;
  readonly failing: boolean;
  /** How long it is not yet due. */
  readonly earlyMs: number;
  /** How long it had been due when it was taken. */
  readonly lateMs: number;
}

/** What is logged of an attempt. Times are told as milliseconds ago, so that only Postgres's clock counts. */
export interface FinishedAttempt extends HeldDelivery {
  readonly eventType: EventType;
  readonly startedAgoMs: number;
  readonly endedAgoMs: number;
  readonly durationMs: number;
  readonly statusCode: number | null;
  /** The first bytes of the answer's body; null without one. */
  readonly answer: Buffer | null;
}

export interface RetriedAttempt extends FinishedAttempt {
  readonly error: string;
  /** From the end of the attempt. */
  readonly delayMs: number;
}

export interface DeadAttempt extends FinishedAttempt {
  readonly error: string;
  readonly deadLetterId: DeadLetterId;
  readonly reason: DeadLetterReason;
  /** False for a refusal: no request was made, no attempt is counted. */
  readonly requestMade: boolean;
}

/**
 * A worker's view of the outstanding deliveries. Each finish returns the ids it ended; a delivery that is missing
 * there is no longer the caller's: its lease ran out, its webhook was deleted, or the database was restored.
 */
export interface DeliveryWork {
  /** A delivery whose event is gone is not given: it is ended, while the others are given already. */
  take(jobs: readonly DeliveryClaim[], leaseSeconds: number): Promise<TakenDelivery[]>;
  done(attempts: readonly FinishedAttempt[]): Promise<string[]>;
  retry(attempts: readonly RetriedAttempt[]): Promise<string[]>;
  dead(attempts: readonly DeadAttempt[]): Promise<string[]>;
  /** @returns the webhooks whose state changed. */
  markHealth(changes: readonly { webhookId: WebhookId; failing: boolean }[]): Promise<WebhookId[]>;
}

interface TakenRow {
  readonly id: string;
  readonly claim: number;
  readonly attempts: number;
  readonly event_id: EventId;
  readonly webhook_id: WebhookId;
  /** Null: the event is gone. */
  readonly type: EventType | null;
  readonly created_at: Date;
  readonly data: string;
  readonly subject: string;
  readonly endpoint: string;
  readonly secret_key_id: string;
  readonly secret_sealed: Buffer;
  readonly failing: boolean;
  readonly early_ms: number;
  readonly late_ms: number;
}

interface Listeners {
  /** Told of each delivery that ended because its event was gone. */
  readonly onOrphan?: (delivery: HeldDelivery) => void;
  /** Told of each that could not be ended: its lease brings it back. */
  readonly onOrphanLeft?: (delivery: HeldDelivery, error: unknown) => void;
}

/**
 * @param leases pool whose commits need not be durable: takes.
 * @param outcomes pool whose commits are: a delivery that was recorded as done is never made again.
 */
export function createDeliveryWork(leases: Pool, outcomes: Pool, listeners: Listeners = {}): DeliveryWork {
  const idsOf = (rows: readonly { id: string }[]): string[] => rows.map((row) => row.id);
  /** Never rejects. */
  async function end(orphans: readonly TakenRow[]): Promise<void> {
    if (orphans.length === 0) return;
    const columns = (['id', 'claim', 'event_id', 'webhook_id'] as const).map((name) =>
      orphans.map((row) => row[name]),
    );
    try {
      const ended = new Set(idsOf(await runOn<{ id: string }>(outcomes, endOrphans, columns)));
      for (const row of orphans) if (ended.has(row.id)) listeners.onOrphan?.(heldOf(row));
    } catch (error) {
      for (const row of orphans) listeners.onOrphanLeft?.(heldOf(row), error);
    }
  }

  return {
    async take(jobs, leaseSeconds) {
      const ids = jobs.map((job) => job.deliveryId);
      const claims = jobs.map((job) => job.claim);
      const rows = await runOn<TakenRow>(leases, takeDeliveries, [ids, claims, leaseSeconds]);
      // Not waited for: the take has committed, and the others of the batch would go to their leases with it.
      void end(rows.filter(({ type }) => type === null));
      return rows.flatMap(takenOf);
    },
    async done(all) {
      const attempts = ofEachTake(all);
      return idsOf(await runOn<{ id: string }>(outcomes, finishDone, attemptColumns(attempts)));
    },
    async retry(all) {
      const attempts = ofEachTake(all);
      return idsOf(
        await runOn<{ id: string }>(outcomes, finishRetry, [
          ...attemptColumns(attempts),
          attempts.map((attempt) => attempt.error),
          attempts.map((attempt) => attempt.delayMs),
          attempts.map((attempt) => attempt.endedAgoMs),
        ]),
      );
    },
    async dead(all) {
      const attempts = ofEachTake(all);
      return idsOf(
        await runOn<{ id: string }>(outcomes, finishDead, [
          ...attemptColumns(attempts),
          attempts.map((attempt) => attempt.error),
          attempts.map((attempt) => attempt.deadLetterId),
          attempts.map((attempt) => attempt.reason),
          attempts.map((attempt) => (attempt.requestMade ? 1 : 0)),
        ]),
      );
    },
    async markHealth(changes) {
      const ids = changes.map((change) => change.webhookId);
      const rows = await runOn<{ id: WebhookId }>(leases, markHealth, [
        ids,
        changes.map((change) => change.failing),
      ]);
      return rows.map((row) => row.id);
    },
  };
}

/**
 * One outcome for each fence, the first. After a restore a worker may take a delivery again that it still holds from
 * the lost history, under the same claim: both outcomes would fit the row.
 */
function ofEachTake<A extends FinishedAttempt>(attempts: readonly A[]): A[] {
  const first = new Map<string, A>();
  for (const attempt of attempts) {
    const fence = `${attempt.deliveryId} ${attempt.claim} ${attempt.eventId} ${attempt.webhookId}`;
    if (!first.has(fence)) first.set(fence, attempt);
  }
  return [...first.values()];
}

/** The columns $1 to $9 that all three finishes share. */
function attemptColumns(attempts: readonly FinishedAttempt[]): unknown[] {
  return [
    attempts.map((attempt) => attempt.deliveryId),
    attempts.map((attempt) => attempt.claim),
    attempts.map((attempt) => attempt.eventId),
    attempts.map((attempt) => attempt.webhookId),
    attempts.map((attempt) => attempt.startedAgoMs),
    attempts.map((attempt) => attempt.durationMs),
    attempts.map((attempt) => attempt.statusCode),
    attempts.map((attempt) => attempt.answer),
    attempts.map((attempt) => attempt.eventType),
  ];
}

function heldOf({ id, claim, event_id: eventId, webhook_id: webhookId }: TakenRow): HeldDelivery {
  return { deliveryId: id, claim, eventId, webhookId };
}

/** None of a row whose event is gone. */
function takenOf(row: TakenRow): TakenDelivery[] {
  if (row.type === null) return [];
  const taken: TakenDelivery = {
    ...heldOf(row),
    attemptsMade: row.attempts,
    eventType: row.type,
    eventCreatedAt: row.created_at,
    eventData: row.data,
    subject: row.subject,
    endpoint: row.endpoint,
    secret: { keyId: row.secret_key_id, sealed: row.secret_sealed },
    failing: row.failing,
    earlyMs: row.early_ms,
    lateMs: row.late_ms,
  };
  return [taken];
}
