import type {
  AccountId,
  DeadLetterId,
  DeadLetterReason,
  EventId,
  EventType,
  SealedSecret,
  WebhookId,
} from '@postrider/domain';
import type { Pool } from 'pg';
import { runOn } from '../db/database.ts';
import type { Statement } from '../db/statement.ts';
import { endOrphans, finishDead, finishDone, finishRetry } from './sql/finish-deliveries.ts';
import { markHealth } from './sql/mark-health.ts';
import { takeDeliveries } from './sql/take-deliveries.ts';

/** A delivery, and the claim under which its job was made. */
export interface DeliveryClaim {
  readonly deliveryId: string;
  readonly claim: number;
}

/**
 * The fence, which an outcome must match. After a restore or a failover, another event's row may have the
 * same id and claim. The ids of event and webhook are random, so they always differ.
 */
export interface HeldDelivery extends DeliveryClaim {
  readonly eventId: EventId;
  readonly webhookId: WebhookId;
}

/** A delivery that a worker has taken, with everything that an attempt needs. */
export interface TakenDelivery extends HeldDelivery {
  /** Earlier attempts, since the event was recorded or last replayed. */
  readonly attemptsMade: number;
  readonly eventType: EventType;
  readonly eventCreatedAt: Date;
  readonly eventData: string;
  /** What the webhook listens to: the id of its account or of its routing rule. */
  readonly subject: string;
  readonly endpoint: string;
  readonly secret: SealedSecret;
  /** The customer's headers. */
  readonly headers: SealedSecret | null;
  readonly failing: boolean;
  /** Time until it is due; 0 when it is due. */
  readonly dueInMs: number;
  /** Time from its due time to the take. */
  readonly lateMs: number;
}

/** An attempt to log. Its start is relative to the statement, so the clock of the worker does not matter. */
export interface FinishedAttempt extends HeldDelivery {
  readonly eventType: EventType;
  readonly startedAgoMs: number;
  readonly durationMs: number;
  /** null: no answer came. */
  readonly statusCode: number | null;
  /** The first bytes of the answer's body; null when there is none. */
  readonly answer: Buffer | null;
}

export interface RetriedAttempt extends FinishedAttempt {
  readonly error: string;
  /** Time until it is due again; negative when that time has passed. */
  readonly dueInMs: number;
}

export interface DeadAttempt extends FinishedAttempt {
  readonly error: string;
  readonly deadLetterId: DeadLetterId;
  readonly reason: DeadLetterReason;
  /** False for a refusal: no request was made, and no attempt is counted. */
  readonly requestMade: boolean;
}

/** A webhook that began to fail, or answers well again. */
export interface ChangedWebhook {
  readonly webhookId: WebhookId;
  readonly accountId: AccountId;
  readonly endpoint: string;
}

type TakenRow = Omit<TakenDelivery, 'eventType' | 'secret' | 'headers'> & {
  /** Null: the event is gone. */
  readonly eventType: EventType | null;
  readonly secretKeyId: string;
  readonly secretSealed: Buffer;
  readonly headersSealed: Buffer | null;
};

interface Listeners {
  /** Called for each delivery that ended because its event was gone. */
  readonly onOrphan?: (delivery: HeldDelivery) => void;
  /** Called for each such delivery that could not be ended. It comes back when its lease expires. */
  readonly onOrphanLeft?: (delivery: HeldDelivery, error: unknown) => void;
}

/** The outstanding deliveries as a worker sees them. */
export type DeliveryWork = ReturnType<typeof createDeliveryWork>;

/**
 * `done`, `retry` and `dead` return the ids that they changed. A delivery that is missing there no longer
 * belongs to the caller: its lease expired, its webhook was deleted, or the database was restored.
 *
 * @param leases pool for takes: its commits need not be durable.
 * @param outcomes pool whose commits are durable: a delivery that is recorded as done is never sent again.
 */
export function createDeliveryWork(leases: Pool, outcomes: Pool, listeners: Listeners = {}) {
  return {
    /**
     * A delivery whose event is gone is not returned: it is ended in the background.
     *
     * @param worker the number on which the worker holds a lock. Null: only the end of the lease frees a row.
     */
    async take(
      jobs: readonly DeliveryClaim[],
      leaseSeconds: number,
      worker: number | null = null,
    ): Promise<TakenDelivery[]> {
      const ids = jobs.map(({ deliveryId }) => deliveryId);
      const claims = jobs.map(({ claim }) => claim);
      const rows = await runOn<TakenRow>(leases, takeDeliveries, [ids, claims, leaseSeconds, worker]);
      // Not awaited: the take has committed. An error here must not cost the other deliveries their lease.
      void endOrphanRows(
        outcomes,
        rows.filter(({ eventType }) => eventType === null),
        listeners,
      );
      return rows.flatMap(takenOf);
    },
    async done(all: readonly FinishedAttempt[]): Promise<string[]> {
      return changedIds(outcomes, finishDone, attemptColumns(oncePerFence(all)));
    },
    async retry(all: readonly RetriedAttempt[]): Promise<string[]> {
      const attempts = oncePerFence(all);
      return changedIds(outcomes, finishRetry, [
        ...attemptColumns(attempts),
        attempts.map(({ error }) => error),
        attempts.map(({ dueInMs }) => dueInMs),
      ]);
    },
    async dead(all: readonly DeadAttempt[]): Promise<string[]> {
      const attempts = oncePerFence(all);
      return changedIds(outcomes, finishDead, [
        ...attemptColumns(attempts),
        attempts.map(({ error }) => error),
        attempts.map(({ deadLetterId }) => deadLetterId),
        attempts.map(({ reason }) => reason),
        attempts.map(({ requestMade }) => (requestMade ? 1 : 0)),
      ]);
    },
    /** @returns the webhooks whose state changed. Of several workers, one gets a change. */
    async markHealth(
      changes: readonly { webhookId: WebhookId; failing: boolean }[],
    ): Promise<ChangedWebhook[]> {
      return runOn<ChangedWebhook>(leases, markHealth, [
        changes.map(({ webhookId }) => webhookId),
        changes.map(({ failing }) => failing),
      ]);
    },
  };
}

/** Ends deliveries that have lost their event. Never rejects. */
async function endOrphanRows(
  outcomes: Pool,
  orphans: readonly HeldDelivery[],
  listeners: Listeners,
): Promise<void> {
  if (orphans.length === 0) return;
  const columns = [
    orphans.map(({ deliveryId }) => deliveryId),
    orphans.map(({ claim }) => claim),
    orphans.map(({ eventId }) => eventId),
    orphans.map(({ webhookId }) => webhookId),
  ];
  try {
    const ended = new Set(await changedIds(outcomes, endOrphans, columns));
    for (const delivery of orphans) if (ended.has(delivery.deliveryId)) listeners.onOrphan?.(delivery);
  } catch (error) {
    for (const delivery of orphans) listeners.onOrphanLeft?.(delivery, error);
  }
}

async function changedIds(pool: Pool, statement: Statement, values: readonly unknown[]): Promise<string[]> {
  const rows = await runOn<{ id: string }>(pool, statement, values);
  return rows.map(({ id }) => id);
}

/**
 * Keeps the first outcome of each fence. A restore can repeat a claim that this worker already holds. Then
 * two outcomes match one row.
 */
function oncePerFence<A extends FinishedAttempt>(attempts: readonly A[]): A[] {
  const first = new Map<string, A>();
  for (const attempt of attempts) {
    const fence = `${attempt.deliveryId} ${attempt.claim} ${attempt.eventId} ${attempt.webhookId}`;
    if (!first.has(fence)) first.set(fence, attempt);
  }
  return [...first.values()];
}

/** The values $1 to $9 that `finishDone`, `finishRetry` and `finishDead` share. */
function attemptColumns(attempts: readonly FinishedAttempt[]): unknown[] {
  return [
    attempts.map(({ deliveryId }) => deliveryId),
    attempts.map(({ claim }) => claim),
    attempts.map(({ eventId }) => eventId),
    attempts.map(({ webhookId }) => webhookId),
    attempts.map(({ startedAgoMs }) => startedAgoMs),
    attempts.map(({ durationMs }) => durationMs),
    attempts.map(({ statusCode }) => statusCode),
    attempts.map(({ answer }) => answer),
    attempts.map(({ eventType }) => eventType),
  ];
}

/** @returns none for a row whose event is gone */
function takenOf({ eventType, secretKeyId, secretSealed, headersSealed, ...row }: TakenRow): TakenDelivery[] {
  if (eventType === null) return [];
  const secret = { keyId: secretKeyId, sealed: secretSealed };
  const headers = headersSealed === null ? null : { keyId: secretKeyId, sealed: headersSealed };
  return [{ ...row, eventType, secret, headers }];
}
