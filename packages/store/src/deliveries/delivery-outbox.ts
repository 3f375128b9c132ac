import type { AccountId, WebhookId } from '@postrider/domain';
import type { Pool } from 'pg';
import { runOn } from '../db/database.ts';
import type { DeadWorker } from './fleet.ts';
import { claimDeliveries, releaseDeliveries } from './sql/claim-deliveries.ts';
import { nextWebhook, sweepWebhook, sweepWebhooks } from './sql/sweep-webhooks.ts';

/** A webhook to claim for, and how many of its deliveries may be due and in flight at once. */
export interface ClaimRequest {
  readonly webhookId: WebhookId;
  /** The webhook's concurrency limit. */
  readonly limit: number;
  /** Rows to read: the larger of `limit` and the deliveries in flight. */
  readonly rowsToRead: number;
  /** Its deliveries go to the slow lane. Those of a failing webhook always do. */
  readonly slow: boolean;
  /** Deliveries in flight of its account, also of webhooks that this claim does not name. */
  readonly accountInFlight: number;
  /** The claim reads no delivery before this one. Null: it reads from the webhook's first. */
  readonly lowWaterMark: DeliveryPosition | null;
}

/** A position among a webhook's outstanding deliveries, which are ordered by due time and id. */
export interface DeliveryPosition {
  /** As Postgres writes it, with microseconds. */
  readonly dueAt: string;
  readonly deliveryId: string;
}

export interface ClaimLimits {
  /** Deliveries that are due within this time may be leased before they are due. */
  readonly lookAheadSeconds: number;
  /** Due rows at most for the fast lane. */
  readonly fastRowsMax: number;
  /** Due rows at most for the slow lane. */
  readonly slowRowsMax: number;
  /** Rows that are not due yet, at most for each lane. */
  readonly delayedRowsMax: number;
  readonly leaseSeconds: number;
  /** An attempt in flight for longer counts as stuck. */
  readonly stuckAfterSeconds: number;
  /** The rows that these workers took are free. In the order of their deaths. */
  readonly deadWorkers: readonly DeadWorker[];
}

/**
 * A webhook as a claim found it: the counts are of the rows that the claim read, before it leased any.
 * `leased` are the rows that it then leased.
 */
export interface WebhookReport {
  readonly webhookId: WebhookId;
  readonly accountId: AccountId;
  /** The webhook is marked as failing. */
  readonly failing: boolean;
  /** Deliveries that are due, in flight or not. */
  readonly due: number;
  /** Due deliveries with a lease: their jobs wait in the queue, or their attempts run. */
  readonly inFlight: number;
  /** Attempts in flight for longer than `stuckAfterSeconds`. */
  readonly stuck: number;
  /**
   * Deliveries whose lease is over without an outcome: a job or a worker was lost, or the job still waits.
   */
  readonly expired: number;
  /**
   * Time until the next delivery is due, leased or not. Null: the claim read no delivery that is due later.
   */
  readonly nextDueInMs: number | null;
  /** The next claim need not read before this position. */
  readonly lowWaterMark: DeliveryPosition;
  readonly leased: readonly LeasedDelivery[];
}

/** A delivery that the relay has leased and now adds to the queue. */
export interface LeasedDelivery {
  readonly deliveryId: string;
  /** The fencing token: a worker may take the delivery only under this claim. */
  readonly claim: number;
  readonly webhookId: WebhookId;
  readonly slow: boolean;
  /** An earlier lease is over without an outcome. */
  readonly leaseExpired: boolean;
  /** Time until it is due. */
  readonly dueInMs: number;
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
  /** Time until its first delivery is due. Not positive: it is due. */
  readonly dueInMs: number;
  /**
   * No outstanding delivery comes before it, except those of a transaction that was open for over two
   * seconds.
   */
  readonly lowWaterMark: DeliveryPosition;
}

type PositionColumns = { readonly fromDueAt: string; readonly fromId: string };
type SweptRow = PositionColumns & { readonly webhookId: WebhookId | null; readonly dueInMs: number };
type ClaimRow = PositionColumns &
  Omit<WebhookReport, 'lowWaterMark' | 'leased'> &
  (LeasedDelivery | { readonly deliveryId: null });

/** The outstanding deliveries as the relay sees them. */
export type DeliveryOutbox = ReturnType<typeof createDeliveryOutbox>;

/** @param pool its commits need not be durable: when a lease is lost, the row is free. */
export function createDeliveryOutbox(pool: Pool) {
  return {
    /**
     * Finds the next webhooks with outstanding deliveries after `cursor` ('' to begin), in the order of their
     * ids.
     */
    async sweep(cursor: string, webhooksMax: number, lookAheadSeconds: number): Promise<Sweep> {
      const rows = await runOn<SweptRow & { readonly cursor: string | null }>(pool, sweepWebhooks, [
        cursor,
        webhooksMax,
        lookAheadSeconds,
      ]);
      return { webhooks: rows.flatMap(sweptWebhooks), cursor: rows[0]?.cursor ?? null };
    },
    /** Does the same for one webhook. @returns none when nothing is due within the look-ahead */
    async sweepOne(webhookId: WebhookId, lookAheadSeconds: number): Promise<SweptWebhook[]> {
      const rows = await runOn<SweptRow>(pool, sweepWebhook, [webhookId, lookAheadSeconds]);
      return rows.flatMap(sweptWebhooks);
    },
    /** @returns the webhook after `cursor`, with or without deliveries; null: there is none. */
    async nextWebhook(cursor: string): Promise<WebhookId | null> {
      const rows = await runOn<{ id: WebhookId }>(pool, nextWebhook, [cursor]);
      return rows[0]?.id ?? null;
    },
    /**
     * Leases due deliveries, fairly over accounts and over the webhooks of each. Ties keep the order of the
     * requests: put the webhooks first that have waited longest.
     *
     * @returns one entry per webhook that still exists, in any order
     */
    async claim(requests: readonly ClaimRequest[], limits: ClaimLimits): Promise<WebhookReport[]> {
      const { deadWorkers } = limits;
      const rows = await runOn<ClaimRow>(pool, claimDeliveries, [
        requests.map(({ webhookId }) => webhookId),
        requests.map(({ limit }) => limit),
        requests.map(({ rowsToRead }) => rowsToRead),
        requests.map(({ slow }) => slow),
        requests.map(({ lowWaterMark }) => lowWaterMark?.dueAt ?? null),
        requests.map(({ lowWaterMark }) => lowWaterMark?.deliveryId ?? null),
        requests.map(({ accountInFlight }) => accountInFlight),
        limits.lookAheadSeconds,
        limits.fastRowsMax,
        limits.slowRowsMax,
        limits.delayedRowsMax,
        limits.leaseSeconds,
        limits.stuckAfterSeconds,
        deadWorkers.map(({ number }) => number),
        deadWorkers.at(-1)?.diedBefore ?? '-infinity',
      ]);
      return [...Map.groupBy(rows, ({ webhookId }) => webhookId).values()].map(webhookReport);
    },
    /** Frees deliveries that were claimed and could not be added to the queue. */
    async release(
      claimed: readonly Pick<LeasedDelivery, 'deliveryId' | 'claim' | 'leaseExpired'>[],
    ): Promise<void> {
      await runOn(pool, releaseDeliveries, [
        claimed.map(({ deliveryId }) => deliveryId),
        claimed.map(({ claim }) => claim),
        claimed.filter(({ leaseExpired }) => leaseExpired).map(({ deliveryId }) => deliveryId),
      ]);
    },
  };
}

/** @returns none for a row that carries the cursor alone */
function sweptWebhooks({ webhookId, dueInMs, fromDueAt, fromId }: SweptRow): SweptWebhook[] {
  return webhookId === null
    ? []
    : [{ webhookId, dueInMs, lowWaterMark: { dueAt: fromDueAt, deliveryId: fromId } }];
}

function webhookReport(rows: readonly ClaimRow[]): WebhookReport {
  const [row] = rows as readonly [ClaimRow];
  const { webhookId, accountId, failing, due, inFlight, stuck, expired, nextDueInMs } = row;
  const lowWaterMark = { dueAt: row.fromDueAt, deliveryId: row.fromId };
  const leased = rows.flatMap((each) => (each.deliveryId === null ? [] : [leasedDelivery(each)]));
  return { webhookId, accountId, failing, due, inFlight, stuck, expired, nextDueInMs, lowWaterMark, leased };
}

function leasedDelivery({ deliveryId, claim, webhookId, slow, leaseExpired, dueInMs }: LeasedDelivery) {
  return { deliveryId, claim, webhookId, slow, leaseExpired, dueInMs };
}
