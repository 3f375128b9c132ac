import type { AccountId, WebhookId } from '@postrider/domain';
import type { Pool } from 'pg';
import { runOn } from '../db/database.ts';
import type { DeliveryClaim } from './delivery-work.ts';
import { claimDeliveries, releaseDeliveries } from './sql/claim-deliveries.ts';
import { nextWebhook, scanWebhooks, sweepWebhooks } from './sql/scan-webhooks.ts';

/** A webhook to claim for, and how many of its deliveries may be due and in flight at once. */
export interface ClaimRequest {
  readonly webhookId: WebhookId;
  readonly limit: number;
  /** How many of these may be in the fast lane: the oldest ones. */
  readonly fastLimit: number;
  /** Deliveries in flight of its account, over all webhooks, requested or not. Default 0. */
  readonly accountInFlight?: number;
  /** The claim reads no delivery before this one. Default: it reads from the webhook's first. */
  readonly scanFrom?: DeliveryPosition | null;
}

/** A position among a webhook's outstanding deliveries, which are ordered by due time and id. */
export interface DeliveryPosition {
  /** As Postgres writes it, with microseconds. */
  readonly dueAt: string;
  readonly deliveryId: string;
}

export interface ClaimLimits {
  readonly lookAheadSeconds: number;
  /** Due rows at most for the fast lane. */
  readonly fastRowsMax: number;
  /** Due rows at most for the slow lane. */
  readonly slowRowsMax: number;
  /** Rows that are not due yet, at most for each lane. */
  readonly earlyRowsMax: number;
  /** Concurrency limit of a failing webhook, where it is lower than the requested one. */
  readonly failingLimit: number;
  readonly leaseSeconds: number;
  /** An attempt in flight for longer counts as stuck. */
  readonly stuckAfterSeconds: number;
}

/** A delivery that the relay has leased and now adds to the queue. */
export interface ClaimedDelivery {
  readonly deliveryId: string;
  /** The fencing token: a worker may take the delivery only under this claim. */
  readonly claim: number;
  readonly webhookId: WebhookId;
  readonly accountId: AccountId;
  /** Deliveries of its webhook that were due and in flight before this claim. */
  readonly inFlight: number;
  /** Rows that the claim read for its webhook, at most the limit. Other relays may have got some. */
  readonly rowsRead: number;
  /** An attempt of the webhook is in flight for longer than `stuckAfterSeconds`. */
  readonly stuck: boolean;
  /** The webhook is marked as failing. */
  readonly failing: boolean;
  /** It goes to the slow lane: its webhook fails, or has used up its limit in the fast lane. */
  readonly slow: boolean;
  /** An earlier lease expired without an outcome: its job or its worker was lost. */
  readonly leaseExpired: boolean;
  /** In its lane, more rows of its kind (due, or not due yet) were available than the claim may take. */
  readonly overLimit: boolean;
  readonly attemptsMade: number;
  /** Time until it is due. */
  readonly delayMs: number;
  /** Time since it was due. */
  readonly lateMs: number;
}

/** One step of a sweep over all webhooks with outstanding deliveries. */
export interface Sweep {
  /** The webhooks whose first delivery is due within the look-ahead. */
  readonly webhooks: readonly SweptWebhook[];
  /** Where the next step begins; null: this step was the last. */
  readonly cursor: string | null;
}

export interface SweptWebhook {
  readonly webhookId: WebhookId;
  /**
   * No outstanding delivery comes before it, except those of a transaction that was open for over two
   * seconds.
   */
  readonly scanFrom: DeliveryPosition;
}

/** A webhook to scan, and its last known position; null: from its first delivery. */
export interface ScanRequest {
  readonly webhookId: WebhookId;
  readonly scanFrom: DeliveryPosition | null;
}

/** A webhook's first outstanding delivery, as a scan found it. */
export interface ScannedWebhook extends SweptWebhook {
  /** The webhook has an outstanding delivery. */
  readonly outstanding: boolean;
  /** The first is due within the look-ahead. */
  readonly dueSoon: boolean;
  /** The first is leased. */
  readonly leased: boolean;
  /** The first has been in an attempt for longer than `stuckAfterSeconds`. */
  readonly stuck: boolean;
  /** The position of the first, if it is due. */
  readonly firstDue: DeliveryPosition | null;
}

type PositionColumns = { readonly fromDueAt: string; readonly fromId: string };
type SweptRow = PositionColumns & { readonly cursor: string | null; readonly webhookId: WebhookId | null };
type ScannedRow = PositionColumns &
  Omit<ScannedWebhook, 'scanFrom' | 'firstDue'> & {
    readonly firstDueAt: string | null;
    readonly firstDueId: string | null;
  };

/** The outstanding deliveries as the relay sees them. */
export type DeliveryOutbox = ReturnType<typeof createDeliveryOutbox>;

/** @param pool its commits need not be durable: when a lease is lost, the row is free. */
export function createDeliveryOutbox(pool: Pool) {
  return {
    /**
     * Finds the next webhooks with outstanding deliveries after `cursor` ('' to begin), in the order of their
     * ids.
     */
    async sweep(
      cursor: string,
      webhooksMax: number,
      { lookAheadSeconds }: Pick<ClaimLimits, 'lookAheadSeconds'>,
    ): Promise<Sweep> {
      const rows = await runOn<SweptRow>(pool, sweepWebhooks, [cursor, webhooksMax, lookAheadSeconds]);
      return { webhooks: rows.flatMap(sweptWebhooks), cursor: rows[0]?.cursor ?? null };
    },
    /** @returns the webhook after `cursor`, with or without deliveries; null: there is none. */
    async nextWebhook(cursor: string): Promise<WebhookId | null> {
      const rows = await runOn<{ id: WebhookId }>(pool, nextWebhook, [cursor]);
      return rows[0]?.id ?? null;
    },
    /** Reads each webhook from its position on. @returns one entry per webhook, in any order */
    async scan(
      requests: readonly ScanRequest[],
      { lookAheadSeconds, stuckAfterSeconds }: Pick<ClaimLimits, 'lookAheadSeconds' | 'stuckAfterSeconds'>,
    ): Promise<ScannedWebhook[]> {
      const rows = await runOn<ScannedRow>(pool, scanWebhooks, [
        requests.map(({ webhookId }) => webhookId),
        requests.map(({ scanFrom }) => scanFrom?.dueAt ?? null),
        requests.map(({ scanFrom }) => scanFrom?.deliveryId ?? null),
        lookAheadSeconds,
        stuckAfterSeconds,
      ]);
      return rows.map(scannedWebhook);
    },
    /**
     * Claims round-robin over accounts, and over the webhooks of each. When there is not enough for a whole
     * round, the first requests are served: put the webhooks first that have waited longest.
     */
    async claim(requests: readonly ClaimRequest[], limits: ClaimLimits): Promise<ClaimedDelivery[]> {
      return runOn<ClaimedDelivery>(pool, claimDeliveries, [
        requests.map(({ webhookId }) => webhookId),
        requests.map(({ limit }) => limit),
        requests.map(({ fastLimit }) => fastLimit),
        limits.lookAheadSeconds,
        limits.fastRowsMax,
        limits.slowRowsMax,
        limits.failingLimit,
        limits.leaseSeconds,
        limits.stuckAfterSeconds,
        requests.map(({ scanFrom }) => scanFrom?.dueAt ?? null),
        requests.map(({ scanFrom }) => scanFrom?.deliveryId ?? null),
        limits.earlyRowsMax,
        requests.map(({ accountInFlight }) => accountInFlight ?? 0),
      ]);
    },
    /** Frees deliveries that were claimed and could not be added to the queue. */
    async release(claimed: readonly DeliveryClaim[]): Promise<void> {
      await runOn(pool, releaseDeliveries, [
        claimed.map(({ deliveryId }) => deliveryId),
        claimed.map(({ claim }) => claim),
      ]);
    },
  };
}

/** @returns none for a row that carries the cursor alone */
function sweptWebhooks({ webhookId, fromDueAt, fromId }: SweptRow): SweptWebhook[] {
  return webhookId === null ? [] : [{ webhookId, scanFrom: { dueAt: fromDueAt, deliveryId: fromId } }];
}

function scannedWebhook({ fromDueAt, fromId, firstDueAt, firstDueId, ...first }: ScannedRow): ScannedWebhook {
  return {
    ...first,
    firstDue:
      firstDueAt === null || firstDueId === null ? null : { dueAt: firstDueAt, deliveryId: firstDueId },
    scanFrom: { dueAt: fromDueAt, deliveryId: fromId },
  };
}
