import type { WebhookId } from '@postrider/domain';
import { LANES } from '@postrider/queue';
import type { Lane, Producer } from '@postrider/queue';
import type { DeliveryOutbox, LeasedDelivery, SweptWebhook } from '@postrider/store';
import { accountShare } from './fair-shares.ts';
import type { FleetWatch } from './fleet-watch.ts';
import { createQueueDepths } from './queue-depths.ts';
import type { QueueDepths } from './queue-depths.ts';
import { WebhookRegistry } from './webhook-registry.ts';
import { CHECK_MS_MIN, LOOK_AHEAD_MS } from './webhook-state.ts';

export interface DeliveryPassParts {
  readonly store: Pick<DeliveryOutbox, 'claim' | 'release'>;
  readonly queue: Pick<Producer, 'addDeliveries' | 'depthOf'>;
  readonly fleet: Pick<FleetWatch, 'slots' | 'deadWorkers'>;
  readonly leaseSeconds: number;
  /** Receives the deliveries of each claim once their jobs are added, for the metrics. */
  readonly onJobsAdded: (leased: readonly LeasedDelivery[]) => void;
  /** Monotonic clock, in milliseconds. */
  readonly nowMs?: () => number;
}

/** An attempt that takes longer is stuck. While many connections open, a quick endpoint may take over 1 s. */
const STUCK_AFTER_SECONDS = 3;
/** Webhooks of each lane in one claim. A fresh event waits for the claim under way, so claims are short. */
const WEBHOOKS_PER_LANE = 64;
/** Delayed jobs in both lanes. They become ready ahead of later work, and the relay cannot reorder them. */
const DELAYED_MAX = 2_000;

/**
 * Moves deliveries into the queue. Each run claims for the webhooks that are due for a check. A retry, a
 * replay, a fresh event and a lost job are alike: each is a due row without a running lease.
 */
export class DeliveryPass {
  readonly #parts: DeliveryPassParts;
  readonly #registry: WebhookRegistry;
  readonly #depths: QueueDepths;
  readonly #nowMs: () => number;
  /**
   * These webhooks wait for the next run. The registry must not see them during a claim: the report of this
   * claim would overwrite their check.
   */
  readonly #woken = new Set<WebhookId>();
  readonly #found: SweptWebhook[] = [];
  #restUntilMs = 0;

  constructor(parts: DeliveryPassParts) {
    this.#parts = parts;
    this.#registry = new WebhookRegistry(parts.fleet.slots);
    this.#depths = createQueueDepths(parts.queue, LANES, DELAYED_MAX, parts.fleet.slots);
    this.#nowMs = parts.nowMs ?? (() => performance.now());
  }

  /** Wake-ups name these webhooks: they have a fresh event or a replay. */
  addWoken(webhooks: readonly WebhookId[]): void {
    for (const id of webhooks) this.#woken.add(id);
  }

  /** The sweep found these webhooks. */
  addFound(webhooks: readonly SweptWebhook[]): void {
    this.#found.push(...webhooks);
  }

  /**
   * Runs once. @returns the pause before the next run in milliseconds. A wake-up or the sweep may end the
   * pause, but not the rest after a claim.
   *
   * @throws QueueUnavailableError, StoreUnavailableError. The leases are released, or run out.
   */
  async run(): Promise<number> {
    const beganMs = this.#nowMs();
    if (beganMs < this.#restUntilMs) return this.#restUntilMs - beganMs;
    this.#readWakeUps(beganMs);
    const lanes = this.#registry.makeDue(beganMs);
    if (lanes.length === 0) return this.#registry.nextCheckMs(beganMs);
    await this.#depths.refresh(lanes);
    const openLanes = lanes.filter((lane) => this.#depths.rowsMax(lane) > 0);
    const answeredMs = openLanes.length > 0 ? await this.#claimFor(openLanes) : this.#nowMs();
    // Claims use Postgres at most half of the time. A wake-up does not shorten this rest.
    this.#restUntilMs = answeredMs + (answeredMs - beganMs);
    const endedMs = this.#nowMs();
    return Math.max(CHECK_MS_MIN, this.#restUntilMs - endedMs, this.#registry.nextCheckMs(endedMs));
  }

  #readWakeUps(nowMs: number): void {
    for (const id of this.#woken) this.#registry.addWoken(id, nowMs);
    this.#woken.clear();
    for (const webhook of this.#found.splice(0)) this.#registry.addFound(webhook, nowMs);
  }

  /**
   * Leases what is due for the next webhooks of these lanes, and adds jobs.
   *
   * @returns when Postgres answered the claim, on the monotonic clock
   */
  async #claimFor(lanes: readonly Lane[]): Promise<number> {
    const { store, fleet, leaseSeconds, onJobsAdded } = this.#parts;
    const nowMs = this.#nowMs();
    const requests = this.#registry.nextRequests(lanes, WEBHOOKS_PER_LANE);
    try {
      const reports = await store.claim(requests, {
        lookAheadSeconds: LOOK_AHEAD_MS / 1000,
        // With few slots, the queue takes more rows than an account's share. One account could get them all.
        fastRowsMax: Math.min(this.#depths.rowsMax('fast'), accountShare(fleet.slots())),
        slowRowsMax: this.#depths.rowsMax('slow'),
        delayedRowsMax: this.#depths.delayedRowsMax(),
        leaseSeconds,
        stuckAfterSeconds: STUCK_AFTER_SECONDS,
        deadWorkers: fleet.deadWorkers(),
      });
      const answeredMs = this.#nowMs();
      const leased = reports.flatMap((report) => report.leased);
      await this.#enqueue(leased);
      this.#registry.observe(requests, reports, nowMs);
      onJobsAdded(leased);
      return answeredMs;
    } catch (error) {
      this.#registry.putBack(requests);
      throw error;
    }
  }

  /** Runs after the leases are committed: no row stays locked while the relay talks to the queue. */
  async #enqueue(leased: readonly LeasedDelivery[]): Promise<void> {
    const { queue, store } = this.#parts;
    try {
      for (const lane of LANES) {
        const jobs = leased.filter((delivery) => laneOf(delivery) === lane).map(jobOf);
        await queue.addDeliveries(lane, jobs);
        this.#depths.noteAdded(lane, jobs);
      }
    } catch (error) {
      // Some jobs may be in the queue already. The next claim adds them again, in other batches. Then the
      // second take of such a job finds nothing.
      this.#depths.forget();
      // If this fails, too, the leases run out. The error to report is the queue's.
      await store.release(leased).catch(() => undefined);
      throw error;
    }
  }
}

function laneOf({ slow }: LeasedDelivery): Lane {
  return slow ? 'slow' : 'fast';
}

/** In the slow lane jobs share no batch: deliveries that timed out together would start together again. */
function jobOf({ deliveryId, claim, dueInMs, slow, leaseExpired }: LeasedDelivery) {
  return { deliveryId, claim, delayMs: dueInMs, alone: slow, leaseExpired };
}
