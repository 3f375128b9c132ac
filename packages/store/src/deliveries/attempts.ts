import type { AccountId, EventId, WebhookId } from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { runOn } from '../db/database.ts';
import { pageOf } from '../db/page.ts';
import type { Page } from '../db/page.ts';
import { listAttempts, listAttemptsOfEvent } from './sql/list-attempts.ts';

/** The position of an attempt in the log. No two attempts share all three values. */
export interface AttemptCursor {
  /** Microseconds since 1970, as precise as the log. */
  readonly startedUs: bigint;
  readonly deliveryId: bigint;
  readonly attempt: number;
}

/** One request to an endpoint, and its result. */
export interface LoggedAttempt {
  readonly eventId: EventId;
  /** null: a version that did not record the type logged the attempt. */
  readonly type: string | null;
  /** 1 for the first attempt after the event was recorded or replayed. */
  readonly attempt: number;
  readonly startedAt: Date;
  readonly durationMs: number;
  /** null: no answer came. */
  readonly statusCode: number | null;
  /** null: a 2xx answered. */
  readonly error: string | null;
  /** The first bytes of the answer's body; null when there is none. */
  readonly answer: Buffer | null;
  readonly cursor: AttemptCursor;
}

export interface AttemptRequest {
  readonly webhookId: WebhookId;
  readonly eventId?: EventId | undefined;
  /** Only attempts after this one in the list. */
  readonly after?: AttemptCursor | undefined;
  /** 1 or more. */
  readonly limit: number;
}

type AttemptRow = Omit<LoggedAttempt, 'cursor'> & { readonly deliveryId: string; readonly startedUs: string };

export type AttemptStore = ReturnType<typeof createAttemptStore>;

export function createAttemptStore(db: Database) {
  return {
    /**
     * The newest first. @returns null when the account has no such webhook, of its own or of a routing rule.
     */
    async list(
      accountId: AccountId,
      { webhookId, eventId, after, limit }: AttemptRequest,
    ): Promise<Page<LoggedAttempt> | null> {
      const webhook = await db.prisma.webhook.findFirst({
        where: { id: webhookId, accountId, removedAt: null },
        select: { id: true },
      });
      if (webhook === null) return null;
      const position =
        after === undefined ? [null, null, null] : [after.startedUs, after.deliveryId, after.attempt];
      // One row more than the page shows tells whether there are more.
      const values = [webhookId, ...position, limit + 1];
      const rows = await (eventId === undefined
        ? runOn<AttemptRow>(db.pool, listAttempts, values)
        : runOn<AttemptRow>(db.pool, listAttemptsOfEvent, [...values, eventId]));
      return pageOf(rows.map(attemptOf), limit);
    },
  };
}

function attemptOf({ deliveryId, startedUs, ...attempt }: AttemptRow): LoggedAttempt {
  const cursor = {
    startedUs: BigInt(startedUs),
    deliveryId: BigInt(deliveryId),
    attempt: attempt.attempt,
  };
  return { ...attempt, cursor };
}
