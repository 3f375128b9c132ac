import type { WebhookId } from '@postrider/domain';
import type { Lane, Producer } from '@postrider/queue';
import type { NoWork } from '@postrider/runtime';
import type { DeadWorker, DeliveryOutbox, LeasedDelivery, SweptWebhook } from '@postrider/store';
import { accountShare } from './fair-shares.ts';
import { DELAYED_MAX, LANES, QueueDepths } from './queue-depths.ts';
import { WebhookRegistry } from './webhook-registry.ts';
import { CHECK_MS_MIN, LOOK_AHEAD_MS } from './webhook-state.ts';

export interface DeliveryPassParts {
  readonly store: Pick<DeliveryOutbox, 'claim' | 'release'>;
  readonly queue: Pick<Producer, 'addDeliveries' | 'depthOf'>;
  readonly leaseSeconds: number;
  /** Slots that all workers together announce. */
  readonly fleetSlots: () => number;
  /** Workers that died. Their deliveries are leased again. */
  readonly deadWorkers: () => readonly DeadWorker[];
  /** Receives the deliveries of each claim once their jobs are added, for the metrics. */
  readonly onClaim: (leased: readonly LeasedDelivery[]) => void;
  /** Monotonic clock, in milliseconds. */
  readonly nowMs?: () => number;
}

/**
 * Webhooks of each lane in one claim. A small claim is short, so a fresh event waits less for the next one.
 */
const WEBHOOKS_PER_LANE = 64;
/**
 * An attempt that takes longer is stuck. While many new connections open at once, attempts of quick endpoints
 * take over a second, too.
 */
const STUCK_AFTER_SECONDS = 3;

/**
 * Moves deliveries into the queue. Each run claims for the webhooks that are due for a check: they have a
 * fresh event or deliveries in flight, are at their limit, have a retry that becomes due, or the sweep found
 * them. A retry, a replay, a fresh event and a lost job are alike: each is a due row without a running lease.
 */
export class DeliveryPass {
  readonly #parts: DeliveryPassParts;
  readonly #registry: WebhookRegistry;
  readonly #depths: QueueDepths;
  readonly #nowMs: () => number;
  /**
   * Webhooks that wake-ups named since the last run began. The next run reads them: the report of a claim
   * sets the next check, and would overwrite a wake-up that came meanwhile.
   */
  readonly #woken = new Set<WebhookId>();
  readonly #found: SweptWebhook[] = [];
  #restUntilMs = 0;

  constructor(parts: DeliveryPassParts) {
    this.#parts = parts;
    this.#registry = new WebhookRegistry(parts.fleetSlots);
    this.#depths = new QueueDepths(parts.queue, LANES, DELAYED_MAX, parts.fleetSlots);
    this.#nowMs = parts.nowMs ?? (() => performance.now());
  }

  /** Wake-ups name these webhooks: they have a fresh event or a replay. */
  wake(webhooks: readonly WebhookId[]): void {
    for (const id of webhooks) this.#woken.add(id);
  }

  /** The sweep found these webhooks. */
  addFound(webhooks: readonly SweptWebhook[]): void {
    this.#found.push(...webhooks);
  }

  /**
   * Runs once.
   *
   * @returns the pause before the next run in milliseconds. A wake-up or the sweep may end it, but not before
   * Postgres has rested as long as the run took.
   * @throws QueueUnavailableError, StoreUnavailableError. No lease remains, or the leases run out by
   * themselves.
   */
  async run(): Promise<number | NoWork> {
    const beganMs = this.#nowMs();
    if (beganMs < this.#restUntilMs) return { noWorkForMs: this.#restUntilMs - beganMs };
    this.#readWakeUps(beganMs);
    const registry = this.#registry;
    const lanes = registry.lanesWithWork(beganMs);
    if (lanes.length === 0) return { noWorkForMs: registry.nextCheckMs(beganMs) };
    await this.#depths.refresh(lanes);
    const open = lanes.filter((lane) => this.#depths.rowsMax(lane) > 0);
    if (open.length > 0) await this.#claimFor(open);
    const endedMs = this.#nowMs();
    // Postgres rests as long as the run took. A wake-up does not shorten this.
    this.#restUntilMs = endedMs + (endedMs - beganMs);
    return Math.max(CHECK_MS_MIN, endedMs - beganMs, registry.nextCheckMs(endedMs));
  }

  #readWakeUps(nowMs: number): void {
    for (const id of this.#woken) this.#registry.wake(id, nowMs);
    this.#woken.clear();
    for (const webhook of this.#found.splice(0)) this.#registry.addFound(webhook, nowMs);
  }

  /** Leases what is due for the next webhooks of these lanes, and adds the jobs. */
  async #claimFor(lanes: readonly Lane[]): Promise<void> {
    const { store, leaseSeconds, deadWorkers, onClaim } = this.#parts;
    const registry = this.#registry;
    const nowMs = this.#nowMs();
    const requests = registry.takeDue(lanes, WEBHOOKS_PER_LANE);
    try {
      const reports = await store.claim(requests, {
        lookAheadSeconds: LOOK_AHEAD_MS / 1000,
        // Otherwise two accounts could go from a little to all slots in the same claim.
        fastRowsMax: Math.min(this.#depths.rowsMax('fast'), accountShare(this.#parts.fleetSlots())),
        slowRowsMax: this.#depths.rowsMax('slow'),
        delayedRowsMax: this.#depths.delayedRowsMax(),
        leaseSeconds,
        stuckAfterSeconds: STUCK_AFTER_SECONDS,
        deadWorkers: deadWorkers(),
      });
      const leased = reports.flatMap((report) => report.leased);
      await this.#enqueue(leased);
      registry.observe(requests, reports, nowMs);
      onClaim(leased);
    } catch (error) {
      registry.putBack(requests);
      throw error;
    }
  }

  /** Runs after the leases are committed: no row stays locked while the relay talks to the queue. */
  async #enqueue(leased: readonly LeasedDelivery[]): Promise<void> {
    const { queue, store } = this.#parts;
    try {
      for (const lane of LANES) {
        const jobs = leased.filter(({ slow }) => slow === (lane === 'slow')).map(jobOf);
        await queue.addDeliveries(lane, jobs);
        this.#depths.noteAdded(lane, jobs);
      }
    } catch (error) {
      // Otherwise these deliveries would wait for their leases to expire. Some jobs may be in the queue
      // already. Added again in another batch, a job is there twice, and its second take finds nothing.
      this.#depths.forget();
      await store.release(leased);
      throw error;
    }
  }
}

/**
 * In the slow lane each job is a batch of its own, so a worker starts them one by one as slots become free.
 * Otherwise those that timed out together would start together again.
 */
function jobOf({ deliveryId, claim, dueInMs, slow, leaseExpired }: LeasedDelivery) {
  return { deliveryId, claim, delayMs: dueInMs, alone: slow, leaseExpired };
}
