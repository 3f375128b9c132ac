import type { WebhookId } from '@postrider/domain';
import type { Lane, Producer } from '@postrider/queue';
import type { NoWork } from '@postrider/runtime';
import type {
  ClaimRequest,
  DeadWorker,
  DeliveryOutbox,
  LeasedDelivery,
  SweptWebhook,
  WebhookClaim,
} from '@postrider/store';
import { LIMITS } from './fair-shares.ts';
import { LANES, QueueDepths } from './queue-depths.ts';
import { WebhookRegistry } from './webhook-registry.ts';
import { LOOK_AHEAD_MS } from './webhook-state.ts';
import type { WebhookState } from './webhook-state.ts';

export interface DeliveryPassParts {
  readonly store: Pick<DeliveryOutbox, 'claim' | 'release'>;
  readonly queue: Pick<Producer, 'addDeliveries' | 'depth'>;
  readonly leaseSeconds: number;
  /** Attempts that all workers together can have in flight. */
  readonly fleetSlots: () => number;
  /** Workers that died. Their deliveries are leased again. */
  readonly deadWorkers: () => readonly DeadWorker[];
  /** Receives the deliveries of each claim, for the metrics. */
  readonly onClaim: (leased: readonly LeasedDelivery[]) => void;
  /** Monotonic clock, in milliseconds. */
  readonly nowMs?: () => number;
}

/** Webhooks per lane and claim. The others wait for the next run, so a fresh event does not. */
const WEBHOOKS_PER_LANE = 64;
/** Pause between two runs while there is work. */
const BUSY_PAUSE_MS = 10;
const IDLE_PAUSE_MS = 60_000;
/** An attempt that takes longer is stuck. */
const STUCK_AFTER_SECONDS = 1;

/**
 * Moves deliveries into the queue. Each run claims for the webhooks that are due for a check: they have a
 * fresh event, are at their limit, have a retry that becomes due, or the sweep found them. A retry, a replay,
 * a fresh event and a lost job are alike: each is a due row without a lease.
 */
export class DeliveryPass {
  readonly #parts: DeliveryPassParts;
  readonly #registry: WebhookRegistry;
  readonly #depths: QueueDepths;
  readonly #nowMs: () => number;
  #restUntilMs = 0;

  constructor(parts: DeliveryPassParts) {
    this.#parts = parts;
    this.#registry = new WebhookRegistry(parts.fleetSlots);
    this.#depths = new QueueDepths(parts.queue);
    this.#nowMs = parts.nowMs ?? (() => performance.now());
  }

  /** Wake-ups name these webhooks: they have a fresh event or a replay. */
  wake(webhooks: readonly WebhookId[]): void {
    for (const id of webhooks) this.#registry.wake(id, this.#nowMs());
  }

  /** The sweep found these webhooks. */
  found(webhooks: readonly SweptWebhook[]): void {
    for (const webhook of webhooks) this.#registry.found(webhook, this.#nowMs());
  }

  /**
   * Runs once.
   *
   * @returns the pause before the next run in milliseconds, unless a webhook is woken first. Also then, the
   * database rests as long as it worked.
   * @throws QueueUnavailableError, StoreUnavailableError. No lease remains, or the leases run out by
   * themselves.
   */
  async run(): Promise<number | NoWork> {
    const beganMs = this.#nowMs();
    if (beganMs < this.#restUntilMs) return { noWorkForMs: this.#restUntilMs - beganMs };
    const lanes = this.#registry.lanesWithWork(beganMs);
    if (lanes.length === 0) return { noWorkForMs: this.#registry.nextCheckMs(beganMs, IDLE_PAUSE_MS) };
    await this.#depths.refresh(lanes);
    const open = lanes.filter((lane) => this.#depths.free(lane) > 0);
    const webhooks = open.flatMap((lane) => this.#registry.take(lane, WEBHOOKS_PER_LANE));
    if (webhooks.length > 0) await this.#claimFor(webhooks);
    const endedMs = this.#nowMs();
    this.#restUntilMs = endedMs + (endedMs - beganMs);
    return Math.max(BUSY_PAUSE_MS, endedMs - beganMs, this.#registry.nextCheckMs(endedMs, IDLE_PAUSE_MS));
  }

  async #claimFor(webhooks: readonly WebhookState[]): Promise<void> {
    const registry = this.#registry;
    const nowMs = this.#nowMs();
    const requests = registry.claimRequests(webhooks, nowMs);
    let claims: readonly WebhookClaim[];
    try {
      claims = await this.#claim(requests);
    } catch (error) {
      registry.putBack(webhooks);
      throw error;
    }
    const claimOf = new Map(claims.map((claim) => [claim.webhookId, claim]));
    webhooks.forEach((webhook, index) => {
      registry.observe(webhook, claimOf.get(webhook.webhookId), requests[index]?.limit ?? 0, nowMs);
    });
    this.#parts.onClaim(claims.flatMap(({ leased }) => leased));
  }

  /** Leases what is due, and adds the jobs. */
  async #claim(requests: readonly ClaimRequest[]): Promise<readonly WebhookClaim[]> {
    const { store, leaseSeconds, deadWorkers } = this.#parts;
    const claims = await store.claim(requests, {
      lookAheadSeconds: LOOK_AHEAD_MS / 1000,
      fastRowsMax: this.#depths.free('fast'),
      slowRowsMax: this.#depths.free('slow'),
      earlyRowsMax: this.#depths.freeForDelayed(),
      failingLimit: LIMITS.failing,
      leaseSeconds,
      stuckAfterSeconds: STUCK_AFTER_SECONDS,
      deadWorkers: deadWorkers(),
    });
    await this.#enqueue(claims.flatMap(({ leased }) => leased));
    return claims;
  }

  /** Runs after the leases are committed: no row stays locked while the relay talks to the queue. */
  async #enqueue(leased: readonly LeasedDelivery[]): Promise<void> {
    const { queue, store } = this.#parts;
    try {
      for (const lane of LANES) {
        const jobs = leased.filter(({ slow }) => slow === (lane === 'slow')).map((each) => jobOf(each, lane));
        await queue.addDeliveries(lane, jobs);
        this.#depths.noteAdded(lane, jobs);
      }
    } catch (error) {
      // Otherwise these deliveries would wait for their leases to expire. Adding a job again has no effect.
      this.#depths.forget();
      await store.release(leased);
      throw error;
    }
  }
}

/**
 * In the fast lane, a job carries several deliveries of a webhook. In the slow lane each delivery has its own
 * job, so a worker starts them one by one as slots become free. Otherwise those that timed out together would
 * start together again.
 */
function jobOf({ deliveryId, claim, delayMs, webhookId }: LeasedDelivery, lane: Lane) {
  return { deliveryId, claim, delayMs, ...(lane === 'fast' ? { group: webhookId } : {}) };
}
