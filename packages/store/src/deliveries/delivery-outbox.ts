import type { AccountId, WebhookId } from '@postrider/domain';
import type { Pool } from 'pg';
import { runOn } from '../db/database.ts';
import type { DeliveryClaim } from './delivery-work.ts';
import { claimDeliveries } from './sql/claim-deliveries.ts';
import { releaseDeliveries } from './sql/release-leases.ts';
import { scanWebhooks } from './sql/scan-webhooks.ts';
import { sweepWebhooks } from './sql/sweep-webhooks.ts';

/** A webhook the relay looks at, and how many of its deliveries may be in somebody's hands. */
export interface ClaimRequest {
  readonly webhookId: WebhookId;
  readonly limit: number;
  /** How many of them may be in the fast lane, the oldest ones. */
  readonly fastLimit: number;
  /** In flight of all webhooks of its account, asked for or not; none: as if there were nothing. */
  readonly accountInFlight?: number;
  /** The claim looks at nothing before it; none: at all of the webhook's deliveries. */
  readonly scanFrom?: DeliveryPosition | null;
}

/** The place of a delivery among its webhook's outstanding ones, which are in the order of due time and id. */
export interface DeliveryPosition {
  /** As Postgres writes it, to the microsecond. */
  readonly dueAt: string;
  readonly deliveryId: string;
}

export interface ClaimLimits {
  readonly lookAheadSeconds: number;
  /** Rows that are due, at the most for the fast lane, and for the slow one. */
  readonly fastRowsMax: number;
  readonly slowRowsMax: number;
  /** Rows that wait for their time, at the most for each lane. */
  readonly earlyRowsMax: number;
  readonly failingLimit: number;
  readonly leaseSeconds: number;
  readonly stuckAfterSeconds: number;
}

export type SweepLimits = Pick<ClaimLimits, 'lookAheadSeconds'>;
export type ScanLimits = Pick<ClaimLimits, 'lookAheadSeconds' | 'stuckAfterSeconds'>;

/** A delivery leased for the way through the queue. */
export interface ClaimedDelivery {
  readonly deliveryId: string;
  /** The fence: the job is good for this hand-over only. */
  readonly claim: number;
  readonly webhookId: WebhookId;
  readonly accountId: AccountId;
  /** Of its webhook, how many that are due were in somebody's hands before this claim. */
  readonly inFlight: number;
  /** Of its webhook, how many the claim looked at, whoever has got them: as many as its room, if there are so many. */
  readonly rowsRead: number;
  /** The webhook has an attempt under way that takes unusually long. */
  readonly stuck: boolean;
  /** The webhook's answers have lately been mostly failures. */
  readonly failing: boolean;
  /** It goes to the slow lane: its webhook fails, or it is beyond what the fast lane may have. */
  readonly slow: boolean;
  /** An earlier lease of it ran out unfinished: its job was lost, or the worker that had it. */
  readonly leaseExpired: boolean;
  /** Of its kind (its lane, and due or before its time) there were more than the limit. */
  readonly overLimit: boolean;
  readonly attemptsMade: number;
  /** Until it is due. */
  readonly delayMs: number;
  /** Since it was due. */
  readonly lateMs: number;
}

/** A step over all webhooks with outstanding deliveries. */
export interface Sweep {
  /** Those of which something is due within the look-ahead. */
  readonly webhooks: readonly SweptWebhook[];
  /** Where the next step begins; null: this was the last. */
  readonly cursor: string | null;
}

export interface SweptWebhook {
  readonly webhookId: WebhookId;
  /** No outstanding delivery comes before it, but for those of a transaction that was open for over two seconds. */
  readonly scanFrom: DeliveryPosition;
}

/** What to scan: a webhook, and the last mark that is known of it. */
export interface ScanRequest {
  readonly webhookId: WebhookId;
  readonly scanFrom: DeliveryPosition | null;
}

/** What the first outstanding delivery of a webhook says. */
export interface ScannedWebhook extends SweptWebhook {
  /** There is one. */
  readonly outstanding: boolean;
  /** It is due within the look-ahead. */
  readonly dueSoon: boolean;
  /** It is leased. */
  readonly leased: boolean;
  /** Its attempt takes unusually long. */
  readonly stuck: boolean;
  /** Its place, if it is due. */
  readonly firstDue: DeliveryPosition | null;
}

/** The relay's view of the outstanding deliveries. */
export interface DeliveryOutbox {
  /** The next webhooks with outstanding deliveries after `cursor` ('' to begin), in the order of their ids. */
  sweep(cursor: string, webhooksMax: number, limits: SweepLimits): Promise<Sweep>;
  /** Reads each webhook from its mark on. @returns one entry per webhook, in any order */
  scan(requests: readonly ScanRequest[], limits: ScanLimits): Promise<ScannedWebhook[]>;
  /**
   * Round-robin over accounts, and over the webhooks of each. Where there is not enough for a whole round, those asked for first are served:
   * put those first that were served least lately.
   */
  claim(requests: readonly ClaimRequest[], limits: ClaimLimits): Promise<ClaimedDelivery[]>;
  /** Gives back what was claimed and could not be queued. */
  release(claimed: readonly DeliveryClaim[]): Promise<void>;
}

interface MarkedRow {
  readonly mark_due_at: string;
  readonly mark_id: string;
}

interface SweptRow extends MarkedRow {
  readonly cursor: string | null;
  readonly webhook_id: WebhookId | null;
}

interface ScannedRow extends MarkedRow {
  readonly webhook_id: WebhookId;
  readonly outstanding: boolean;
  readonly due_soon: boolean;
  readonly held: boolean;
  readonly stuck: boolean;
  readonly front_due_at: string | null;
  readonly front_id: string | null;
}

interface ClaimedRow {
  readonly id: string;
  readonly claim: number;
  readonly webhook_id: WebhookId;
  readonly account_id: AccountId;
  readonly in_flight: number;
  readonly seen: number;
  readonly stuck: boolean;
  readonly failing: boolean;
  readonly slow: boolean;
  readonly lapsed: boolean;
  readonly left_out: boolean;
  readonly attempts: number;
  readonly delay_ms: number;
  readonly late_ms: number;
}

/** @param pool commits need not be durable: a lost lease is a free row. */
export function createDeliveryOutbox(pool: Pool): DeliveryOutbox {
  return {
    async sweep(cursor, webhooksMax, { lookAheadSeconds }) {
      const rows = await runOn<SweptRow>(pool, sweepWebhooks, [cursor, webhooksMax, lookAheadSeconds]);
      return { webhooks: rows.flatMap(sweptWebhooks), cursor: rows[0]?.cursor ?? null };
    },
    async scan(requests, { lookAheadSeconds, stuckAfterSeconds }) {
      const rows = await runOn<ScannedRow>(pool, scanWebhooks, [
        requests.map(({ webhookId }) => webhookId),
        requests.map(({ scanFrom }) => scanFrom?.dueAt ?? null),
        requests.map(({ scanFrom }) => scanFrom?.deliveryId ?? null),
        lookAheadSeconds,
        stuckAfterSeconds,
      ]);
      return rows.map(scannedWebhook);
    },
    async claim(requests, limits) {
      const rows = await runOn<ClaimedRow>(pool, claimDeliveries, [
        requests.map((request) => request.webhookId),
        requests.map((request) => request.limit),
        requests.map((request) => request.fastLimit),
        limits.lookAheadSeconds,
        limits.fastRowsMax,
        limits.slowRowsMax,
        limits.failingLimit,
        limits.leaseSeconds,
        limits.stuckAfterSeconds,
        requests.map((request) => request.scanFrom?.dueAt ?? null),
        requests.map((request) => request.scanFrom?.deliveryId ?? null),
        limits.earlyRowsMax,
        requests.map((request) => request.accountInFlight ?? 0),
      ]);
      return rows.map((row) => ({
        deliveryId: row.id,
        claim: row.claim,
        webhookId: row.webhook_id,
        accountId: row.account_id,
        inFlight: row.in_flight,
        rowsRead: row.seen,
        stuck: row.stuck,
        failing: row.failing,
        slow: row.slow,
        leaseExpired: row.lapsed,
        overLimit: row.left_out,
        attemptsMade: row.attempts,
        delayMs: row.delay_ms,
        lateMs: row.late_ms,
      }));
    },
    async release(claimed) {
      const ids = claimed.map((delivery) => delivery.deliveryId);
      await runOn(pool, releaseDeliveries, [ids, claimed.map((delivery) => delivery.claim)]);
    },
  };
}

/** None, if the row is there for the cursor alone. */
function sweptWebhooks(row: SweptRow): SweptWebhook[] {
  return row.webhook_id === null ? [] : [{ webhookId: row.webhook_id, scanFrom: markOf(row) }];
}

function scannedWebhook(row: ScannedRow): ScannedWebhook {
  return {
    webhookId: row.webhook_id,
    outstanding: row.outstanding,
    dueSoon: row.due_soon,
    leased: row.held,
    stuck: row.stuck,
    firstDue: frontOf(row),
    scanFrom: markOf(row),
  };
}

function markOf({ mark_due_at: dueAt, mark_id: deliveryId }: MarkedRow): DeliveryPosition {
  return { dueAt, deliveryId };
}

function frontOf({ front_due_at: dueAt, front_id: deliveryId }: ScannedRow): DeliveryPosition | null {
  return dueAt === null || deliveryId === null ? null : { dueAt, deliveryId };
}
