import type { AccountId, EventId, WebhookId } from '@postrider/domain';
import type { Database } from '../db/database.ts';
import { runOn } from '../db/database.ts';
import { mappingUnavailable } from '../db/errors.ts';
import type { Page } from '../db/page.ts';
import { listAttempts, listAttemptsOfEvent } from './sql/list-attempts.ts';

/** Where an attempt stands in the log: no two attempts share all three. */
export interface AttemptCursor {
  /** Microseconds since 1970, as the log has them. */
  readonly startedUs: bigint;
  readonly deliveryId: bigint;
  readonly attempt: number;
}

/** What one request to an endpoint came to. */
export interface LoggedAttempt {
  readonly eventId: EventId;
  /** null: logged by a version that did not write it. */
  readonly type: string | null;
  /** 1 for the first of its set. */
  readonly attempt: number;
  readonly startedAt: Date;
  readonly durationMs: number;
  readonly statusCode: number | null;
  readonly error: string | null;
  /** The first bytes of the answer's body; null without one. */
  readonly answer: Buffer | null;
  readonly cursor: AttemptCursor;
}

export interface AttemptRequest {
  readonly webhookId: WebhookId;
  readonly eventId?: EventId | undefined;
  /** Only what stands behind it. */
  readonly after?: AttemptCursor | undefined;
  /** 1 or more. */
  readonly limit: number;
}

export interface AttemptStore {
  /** The newest first. @returns null when the account has no such webhook, of its own or of an inbound rule. */
  list(accountId: AccountId, request: AttemptRequest): Promise<Page<LoggedAttempt> | null>;
}

interface AttemptRow {
  readonly event_id: EventId;
  readonly type: string | null;
  readonly attempt: number;
  readonly started_at: Date;
  readonly duration_ms: number;
  readonly status: number | null;
  readonly error: string | null;
  readonly answer: Buffer | null;
  readonly delivery_id: string;
  readonly started_us: string;
}

export function createAttemptStore(db: Database): AttemptStore {
  return {
    async list(accountId, { webhookId, eventId, after, limit }) {
      const webhook = await mappingUnavailable(() =>
        db.prisma.webhook.findFirst({
          where: { id: webhookId, accountId, removedAt: null },
          select: { id: true },
        }),
      );
      if (webhook === null) return null;
      const position =
        after === undefined ? [null, null, null] : [after.startedUs, after.deliveryId, after.attempt];
      // One more than is shown tells whether there are more.
      const values = [webhookId, ...position, limit + 1];
      const rows = await (eventId === undefined
        ? runOn<AttemptRow>(db.pool, listAttempts, values)
        : runOn<AttemptRow>(db.pool, listAttemptsOfEvent, [...values, eventId]));
      return { entries: rows.slice(0, limit).map(attemptOf), hasMore: rows.length > limit };
    },
  };
}

function attemptOf(row: AttemptRow): LoggedAttempt {
  const { attempt } = row;
  return {
    eventId: row.event_id,
    type: row.type,
    attempt,
    startedAt: row.started_at,
    durationMs: row.duration_ms,
    statusCode: row.status,
    error: row.error,
    answer: row.answer,
    cursor: { startedUs: BigInt(row.started_us), deliveryId: BigInt(row.delivery_id), attempt },
  };
}
