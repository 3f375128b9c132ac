import { isFresh } from '@postrider/domain';
import type { WebhookId } from '@postrider/domain';
import type { DeliveryJob, Lane, JobToAdd, Producer } from '@postrider/queue';
import type { ClaimedDelivery, DeliveryOutbox } from '@postrider/store';
import { ConcurrencyLimits } from './concurrency-limits.ts';
import { LaneDepthTracker } from './lane-depths.ts';
import type { LaneDepths } from './lane-depths.ts';
import { OutstandingWebhooks } from './outstanding-webhooks.ts';
import { LIMITS } from './webhook-state.ts';

export interface DeliveryClaimsParts {
  readonly store: Pick<DeliveryOutbox, 'claim' | 'release'>;
  readonly queue: Pick<Producer, 'addDeliveries' | 'depth'>;
  readonly leaseSeconds: number;
  /** Attempts that all workers together can have in flight. */
  readonly fleetSlots: () => number;
  /** Receives the deliveries of each claim, for the metrics. */
  readonly onClaim: (claimed: readonly ClaimedDelivery[]) => void;
  /** Monotonic clock, in milliseconds. */
  readonly nowMs?: () => number;
}

export interface ClaimOutcome {
  /** Webhooks that got at least one delivery. */
  readonly served: ReadonlySet<WebhookId>;
  /** Webhooks that may have more due deliveries: they or one of their lanes reached a limit. */
  readonly mayHaveMore: readonly WebhookId[];
  /** Webhooks for which another claim was running. */
  readonly skipped: readonly WebhookId[];
  /**
   * Lanes that had more deliveries than they could take. A webhook in such a lane may have got nothing
   * although it has due deliveries.
   */
  readonly laneFull: Readonly<Record<Lane, boolean>>;
}

/**
 * Waiting jobs per lane. This keeps the workers busy between two runs, and little is lost when Redis loses
 * its data.
 */
export const WAITING_MAX = 128;
/**
 * A lane with more waiting jobs is not refilled. A claim reads up to the limit of every webhook with a
 * backlog, whether it leases one row or a hundred.
 */
export const REFILL_AT = WAITING_MAX / 2;
/**
 * The relay asks the queue for its depth when a lane seems to accept fewer jobs than this. Workers may have
 * taken jobs since.
 */
const ASK_BELOW_FREE = 32;
/** Webhooks per claim, at most. */
export const WEBHOOKS_PER_CLAIM = 500;
/** Rows per lane and claim that are not due yet. Each becomes a delayed job of its own. */
const EARLY_ROWS_MAX = 500;
/** Deliveries due within this time become delayed jobs. Later ones wait in Postgres. */
const LOOK_AHEAD_SECONDS = 60;
/** An attempt that takes longer is stuck. An endpoint goes to the slow lane when its attempts stay stuck. */
export const STUCK_AFTER_SECONDS = 1;
/**
 * Delayed jobs in both lanes. Delayed jobs become ready ahead of later work, and the relay can no longer
 * reorder them. So the look-ahead shrinks as they grow. At this number only due deliveries become jobs.
 */
const DELAYED_MAX = 2_000;

const LANES = ['fast', 'slow'] as const;
const NEITHER = { fast: false, slow: false };

/** Leases deliveries and adds their jobs to the queue. Several passes may call it at the same time. */
export class DeliveryClaims {
  /** State and limits of the webhooks. */
  readonly limits: ConcurrencyLimits;
  /** The webhooks that may have outstanding deliveries, and where a claim or a scan starts reading. */
  readonly outstanding = new OutstandingWebhooks();
  readonly #parts: DeliveryClaimsParts;
  readonly #depths: LaneDepthTracker;
  /**
   * Webhooks that a claim is running for. Of two claims at once, the later one would mistake the leases of
   * the other for ended deliveries.
   */
  readonly #claiming = new Set<WebhookId>();

  constructor(parts: DeliveryClaimsParts) {
    const { queue, fleetSlots, nowMs = () => performance.now() } = parts;
    this.#parts = parts;
    this.limits = new ConcurrencyLimits({ fleetSlots, nowMs });
    this.#depths = new LaneDepthTracker(queue, nowMs);
  }

  /** The lanes that may take deliveries of this webhook. */
  possibleLanes(webhookId: WebhookId): readonly Lane[] {
    const lane = this.limits.knownLane(webhookId);
    return lane === null ? LANES : [lane];
  }

  /** Jobs in each lane. @throws QueueUnavailableError */
  depths(): Promise<LaneDepths> {
    return this.#depths.read(LANES, REFILL_AT);
  }

  /** Deliveries due later than this stay in Postgres. @throws QueueUnavailableError */
  async lookAheadSeconds(): Promise<number> {
    return lookAheadSeconds(await this.#depths.read([], 0));
  }

  /**
   * Leases due deliveries of these webhooks, first come first served, and adds their jobs. Afterwards each
   * lane has at most `waitingMax` waiting jobs.
   *
   * @throws QueueUnavailableError, StoreUnavailableError. No lease remains, or the leases run out by
   * themselves.
   */
  async claim(webhooks: readonly WebhookId[], waitingMax: number): Promise<ClaimOutcome> {
    const skipped = webhooks.filter((id) => this.#claiming.has(id));
    const mine = webhooks.filter((id) => !this.#claiming.has(id));
    if (mine.length === 0) return { served: new Set(), mayHaveMore: [], skipped, laneFull: NEITHER };
    for (const id of mine) this.#claiming.add(id);
    try {
      const { claimed, laneFull } = await this.#claimFor(mine, waitingMax);
      this.#parts.onClaim(claimed);
      const served = new Set(claimed.map((delivery) => delivery.webhookId));
      const hasMore = (id: WebhookId): boolean =>
        this.limits.isAtLimit(id) || this.possibleLanes(id).some((lane) => laneFull[lane]);
      return { served, mayHaveMore: mine.filter(hasMore), skipped, laneFull };
    } finally {
      for (const id of mine) this.#claiming.delete(id);
      this.outstanding.add(mine); // after the claim: so a later scan sees its leases
    }
  }

  async #claimFor(webhooks: readonly WebhookId[], waitingMax: number) {
    const { store, leaseSeconds } = this.#parts;
    const lanes = LANES.filter((lane) => webhooks.some((id) => this.possibleLanes(id).includes(lane)));
    const depths = await this.#depths.read(lanes, waitingMax - ASK_BELOW_FREE);
    const { fast, slow } = depths;
    const fastRowsMax = Math.max(0, waitingMax - fast.waiting);
    const slowRowsMax = Math.max(0, waitingMax - slow.waiting);
    if (fastRowsMax === 0 && slowRowsMax === 0) return { claimed: [], laneFull: { fast: true, slow: true } };
    const requests = this.limits.claimRequests(webhooks).map((request) => {
      const { webhookId } = request;
      return {
        ...request,
        scanFrom: this.outstanding.claimFrom(webhookId, this.limits.isAtLimit(webhookId)),
      };
    });
    const claimed = await store.claim(requests, {
      lookAheadSeconds: lookAheadSeconds(depths),
      fastRowsMax,
      slowRowsMax,
      earlyRowsMax: earlyRowsMax(depths),
      failingLimit: LIMITS.failing,
      leaseSeconds,
      stuckAfterSeconds: STUCK_AFTER_SECONDS,
    });
    await this.#enqueue(claimed);
    const isOverLimit = (slowLane: boolean): boolean =>
      claimed.some((delivery) => delivery.overLimit && delivery.slow === slowLane && delivery.delayMs === 0);
    const laneFull = {
      fast: fastRowsMax === 0 || isOverLimit(false),
      slow: slowRowsMax === 0 || isOverLimit(true),
    };
    return { claimed, laneFull };
  }

  /** Runs after the leases are committed: no row stays locked while the relay talks to the queue. */
  async #enqueue(claimed: readonly ClaimedDelivery[]): Promise<void> {
    const { queue, store } = this.#parts;
    this.limits.observe(claimed);
    try {
      for (const lane of LANES) {
        const jobs = claimed
          .filter((delivery) => delivery.slow === (lane === 'slow'))
          .map((delivery) => jobOf(delivery, lane));
        await queue.addDeliveries(lane, jobs);
        this.#depths.noteAdded(lane, jobs);
      }
    } catch (error) {
      // Otherwise these deliveries would wait for their leases to expire. Adding a job again has no effect.
      this.#depths.forget();
      this.limits.noteReleased(claimed);
      await store.release(claimed);
      throw error;
    }
  }
}

function lookAheadSeconds(depths: LaneDepths): number {
  return LOOK_AHEAD_SECONDS * (delayedFree(depths) / DELAYED_MAX);
}

/** Each lane takes at most half of the free delayed jobs. The next claim takes what a lane left. */
function earlyRowsMax(depths: LaneDepths): number {
  return Math.min(EARLY_ROWS_MAX, Math.floor(delayedFree(depths) / LANES.length));
}

function delayedFree({ fast, slow }: LaneDepths): number {
  return Math.max(0, DELAYED_MAX - fast.delayed - slow.delayed);
}

/** The slow lane has no priorities. Fresh events of failing endpoints would starve their retries. */
function jobOf(delivery: ClaimedDelivery, lane: Lane): JobToAdd<DeliveryJob> {
  const { deliveryId, claim, delayMs, webhookId } = delivery;
  return { deliveryId, claim, delayMs, lowPriority: lane === 'fast' && !isFresh(delivery), group: webhookId };
}
