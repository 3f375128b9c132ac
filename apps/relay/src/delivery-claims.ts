import { isFresh } from '@postrider/domain';
import type { WebhookId } from '@postrider/domain';
import type { DeliveryJob, Lane, JobToAdd, Producer } from '@postrider/queue';
import type { ClaimedDelivery, DeliveryOutbox } from '@postrider/store';
import { createConcurrencyLimits } from './concurrency-limits.ts';
import type { ConcurrencyLimits } from './concurrency-limits.ts';
import { createLaneDepthTracker } from './lane-depths.ts';
import type { LaneDepthTracker, LaneDepths } from './lane-depths.ts';
import { createOutstandingWebhooks } from './outstanding-webhooks.ts';
import type { OutstandingWebhooks } from './outstanding-webhooks.ts';
import { LIMITS } from './webhook-state.ts';

/** What the claims have of the store and of the queue. */
export interface DeliveryClaimsParts {
  readonly store: Pick<DeliveryOutbox, 'claim' | 'release'>;
  readonly queue: Pick<Producer, 'addDeliveries' | 'depth'>;
  readonly leaseSeconds: number;
  /** Attempts that all workers together can have in flight. */
  readonly fleetSlots: () => number;
  /** Told what each claim came to. */
  readonly onClaim: (claimed: readonly ClaimedDelivery[]) => void;
  /** A monotonic clock. */
  readonly nowMs?: () => number;
}

export interface ClaimOutcome {
  /** These got something. */
  readonly served: ReadonlySet<WebhookId>;
  /** These may have more to do: their room is full, or a lane of theirs. */
  readonly mayHaveMore: readonly WebhookId[];
  /** Another claim for these was under way. */
  readonly skipped: readonly WebhookId[];
  /** A lane took no more, though there was more for it: getting nothing does not mean having nothing to do. */
  readonly laneFull: Readonly<Record<Lane, boolean>>;
}

/** Leases deliveries and puts them into the queue as delayed jobs, for one caller or several at a time. */
export interface DeliveryClaims {
  /** What is known of the webhooks. */
  readonly limits: Pick<ConcurrencyLimits, 'isAtLimit' | 'claimOrder' | 'noteIdle' | 'noteStuck'>;
  /** Which of them may have outstanding deliveries, and where these begin. */
  readonly outstanding: OutstandingWebhooks;
  /** The lanes that may take deliveries of it, as far as is known. */
  possibleLanes(webhookId: WebhookId): readonly Lane[];
  /** How many jobs the lanes hold, for whoever would fill them up. @throws QueueUnavailableError */
  depths(): Promise<LaneDepths>;
  /** What is due later than this stays in Postgres for now. @throws QueueUnavailableError */
  lookAheadSeconds(): Promise<number>;
  /**
   * Those asked for first are served first. A queue holds at most `waitingMax` waiting jobs afterwards.
   *
   * @throws QueueUnavailableError, StoreUnavailableError: nothing is leased then, or only until the lease runs out
   */
  claim(webhooks: readonly WebhookId[], waitingMax: number): Promise<ClaimOutcome>;
}

/** Waiting jobs a queue may hold: enough to keep the workers busy between two rounds, little to lose. */
export const WAITING_MAX = 128;
/**
 * A lane that holds more than this is not filled up: a claim reads the rooms of all webhooks with a backlog, whether it
 * may take a hundred rows or one.
 */
export const REFILL_AT = WAITING_MAX / 2;
/** With less room than this, by what is known, the queue is asked: workers may have made more. */
const ASK_BELOW_FREE = 32;
/** A claim is for no more webhooks than this. */
export const WEBHOOKS_PER_CLAIM = 500;
/** Rows that wait for their time, of each lane in one claim: a job each is made of them in one call. */
const EARLY_ROWS_MAX = 500;
/** Deliveries due within this are put into the queue as delayed jobs; what is due later waits in Postgres. */
const LOOK_AHEAD_SECONDS = 60;
/** An attempt that takes longer than this is "stuck": its endpoint goes to the slow lane. */
export const STUCK_AFTER_SECONDS = 1;
/**
 * Delayed jobs the queues may hold. The more they hold, the less far ahead is looked: when their time comes they wait before
 * everybody else, whom nobody could choose from them then. At this many only what is due goes in.
 */
const DELAYED_MAX = 2_000;

const LANES = ['fast', 'slow'] as const;
const NEITHER = { fast: false, slow: false };

export function createDeliveryClaims(parts: DeliveryClaimsParts): DeliveryClaims {
  return new Claims(parts);
}

class Claims implements DeliveryClaims {
  readonly limits: ConcurrencyLimits;
  readonly outstanding = createOutstandingWebhooks();
  readonly #parts: DeliveryClaimsParts;
  readonly #depths: LaneDepthTracker;
  /** Of two claims for one webhook at a time the later would take for ended what the other has not seen yet. */
  readonly #claiming = new Set<WebhookId>();

  constructor(parts: DeliveryClaimsParts) {
    const { queue, fleetSlots, nowMs = () => performance.now() } = parts;
    this.#parts = parts;
    this.limits = createConcurrencyLimits({ fleetSlots, nowMs });
    this.#depths = createLaneDepthTracker({ queue, nowMs });
  }

  possibleLanes(webhookId: WebhookId): readonly Lane[] {
    const lane = this.limits.knownLane(webhookId);
    return lane === null ? LANES : [lane];
  }

  depths(): Promise<LaneDepths> {
    return this.#depths.read(LANES, REFILL_AT);
  }

  async lookAheadSeconds(): Promise<number> {
    return lookAheadSeconds(await this.#depths.read([], 0));
  }

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
      this.outstanding.add(mine); // after the claim, so that a scan that sees its leases is sure to come
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

  /** After the leases are committed: no row is locked while the queue is talked to. */
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
      // Without this they would wait for their leases to run out. What did get in is added again, to no effect.
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

/** Each lane takes up to half of the room: what the other leaves is there for the next claim. */
function earlyRowsMax(depths: LaneDepths): number {
  return Math.min(EARLY_ROWS_MAX, Math.floor(delayedFree(depths) / LANES.length));
}

function delayedFree({ fast, slow }: LaneDepths): number {
  return Math.max(0, DELAYED_MAX - fast.delayed - slow.delayed);
}

/** In the slow lane nobody gives way: fresh events of endpoints that fail would starve their retries. */
function jobOf(delivery: ClaimedDelivery, lane: Lane): JobToAdd<DeliveryJob> {
  const { deliveryId, claim, delayMs, webhookId } = delivery;
  return { deliveryId, claim, delayMs, lowPriority: lane === 'fast' && !isFresh(delivery), group: webhookId };
}
