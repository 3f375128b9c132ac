import type {
  DeadLetterId,
  DeadLetterReason,
  EventId,
  EventType,
  SealedSecret,
  WebhookId,
} from '@postrider/domain';
import type { Pool } from 'pg';
import { runOn } from './database.ts';
import { finishDead } from './sql/finish-dead.ts';
import { finishDone } from './sql/finish-done.ts';
import { finishRetry } from './sql/finish-retry.ts';
import { markHealth } from './sql/mark-health.ts';
import { takeDeliveries } from './sql/take-deliveries.ts';

/** A delivery by the hand-over a job was made for. */
export interface DeliveryHandOver {
  readonly deliveryId: string;
  readonly claim: number;
}

/** A delivery in a worker's hands, with all that an attempt needs. */
export interface TakenDelivery extends DeliveryHandOver {
  /** Attempts of this set that were made before. */
  readonly attemptsMade: number;
  readonly eventId: EventId;
  readonly eventType: EventType;
  readonly eventCreatedAt: Date;
  readonly eventData: string;
  readonly webhookId: WebhookId;
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
export interface FinishedAttempt extends DeliveryHandOver {
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
 * there is no longer the caller's: its lease ran out, or its webhook was deleted.
 */
export interface DeliveryWork {
  take(jobs: readonly DeliveryHandOver[], leaseSeconds: number): Promise<TakenDelivery[]>;
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
  readonly type: EventType;
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

/**
 * @param leases pool whose commits need not be durable: takes.
 * @param outcomes pool whose commits are: a delivery that was recorded as done is never made again.
 */
export function createDeliveryWork(leases: Pool, outcomes: Pool): DeliveryWork {
  const idsOf = (rows: readonly { id: string }[]): string[] => rows.map((row) => row.id);
  return {
    async take(jobs, leaseSeconds) {
      const ids = jobs.map((job) => job.deliveryId);
      const claims = jobs.map((job) => job.claim);
      return (await runOn<TakenRow>(leases, takeDeliveries, [ids, claims, leaseSeconds])).map(takenOf);
    },
    async done(attempts) {
      return idsOf(await runOn<{ id: string }>(outcomes, finishDone, attemptColumns(attempts)));
    },
    async retry(attempts) {
      return idsOf(
        await runOn<{ id: string }>(outcomes, finishRetry, [
          ...attemptColumns(attempts),
          attempts.map((attempt) => attempt.error),
          attempts.map((attempt) => attempt.delayMs),
          attempts.map((attempt) => attempt.endedAgoMs),
        ]),
      );
    },
    async dead(attempts) {
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

/** The columns $1 to $6 that all three finishes share. */
function attemptColumns(attempts: readonly FinishedAttempt[]): unknown[] {
  return [
    attempts.map((attempt) => attempt.deliveryId),
    attempts.map((attempt) => attempt.claim),
    attempts.map((attempt) => attempt.startedAgoMs),
    attempts.map((attempt) => attempt.durationMs),
    attempts.map((attempt) => attempt.statusCode),
    attempts.map((attempt) => attempt.answer),
  ];
}

function takenOf(row: TakenRow): TakenDelivery {
  return {
    deliveryId: row.id,
    claim: row.claim,
    attemptsMade: row.attempts,
    eventId: row.event_id,
    eventType: row.type,
    eventCreatedAt: row.created_at,
    eventData: row.data,
    webhookId: row.webhook_id,
    subject: row.subject,
    endpoint: row.endpoint,
    secret: { keyId: row.secret_key_id, sealed: row.secret_sealed },
    failing: row.failing,
    earlyMs: row.early_ms,
    lateMs: row.late_ms,
  };
}
