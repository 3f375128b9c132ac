import type { WebhookId } from '@postrider/domain';
import type { DeliveryJob, Lane, JobToAdd } from '@postrider/queue';
import { createDeliveryOutbox, createDeliveryWork } from '@postrider/store';
import type { ClaimRequest, DeadWorker, LeasedDelivery } from '@postrider/store';
import { DeliveryPass } from '../src/delivery/delivery-pass.ts';
import { SweepPass } from '../src/delivery/sweep-pass.ts';
import { inMemoryQueue } from './in-memory-queue.ts';
import type { RelayStore } from './setup-relay-store.ts';

/** Longer than the pause of a pass with work. */
const STEP_MS = 10;
/** No check of a known webhook comes later, and no sweep. */
const CHECKED_WITHIN_MS = 2_500;

/** The relay's two delivery passes on a real database and a queue in memory. Records what they do. */
export class DeliveryFixture {
  readonly store: RelayStore;
  readonly queue = inMemoryQueue();
  readonly leases: (readonly LeasedDelivery[])[] = [];
  /** The requests of each claim. */
  readonly asked: (readonly ClaimRequest[])[] = [];
  sweeps = 0;
  deadWorkers: readonly DeadWorker[] = [];
  fleetSlots = 1_024;
  /** May throw, as if the database were away. */
  duringClaim: () => Promise<void> = async () => undefined;
  duringRelease: () => Promise<void> = async () => undefined;
  pass: DeliveryPass;
  sweep: SweepPass;
  /** The relay's clock. It moves only by `advance`. */
  #nowMs = 0;

  constructor(store: RelayStore) {
    this.store = store;
    ({ pass: this.pass, sweep: this.sweep } = this.newRelay());
  }

  newRelay(): { pass: DeliveryPass; sweep: SweepPass } {
    const outbox = createDeliveryOutbox(this.store.leases);
    const nowMs = () => this.#nowMs;
    const pass = new DeliveryPass({
      store: {
        ...outbox,
        claim: async (requests, limits) => {
          this.asked.push(requests);
          const hook = this.duringClaim;
          this.duringClaim = async () => undefined;
          await hook();
          return outbox.claim(requests, limits);
        },
        release: async (leased) => {
          await this.duringRelease();
          return outbox.release(leased);
        },
      },
      queue: this.queue,
      fleet: { slots: () => this.fleetSlots, deadWorkers: () => this.deadWorkers },
      leaseSeconds: 30,
      nowMs,
      onJobsAdded: (leased) => this.leases.push(leased),
    });
    const sweepOnce: typeof outbox.sweep = async (...args) => {
      this.sweeps += 1;
      return outbox.sweep(...args);
    };
    const sweep = new SweepPass({
      store: { ...outbox, sweep: sweepOnce },
      onFound: (webhooks) => pass.addFound(webhooks),
      nowMs,
    });
    return { pass, sweep };
  }

  /** A wake-up names these webhooks. @returns the pause before the next run, in milliseconds. */
  async wakeUp(...webhooks: WebhookId[]): Promise<number> {
    this.pass.addWoken(webhooks);
    return this.pass.run();
  }

  jobs(lane: Lane): JobToAdd<DeliveryJob>[] {
    return this.queue.jobs(lane) as JobToAdd<DeliveryJob>[];
  }

  queued(): JobToAdd<DeliveryJob>[] {
    return [...this.jobs('fast'), ...this.jobs('slow')];
  }

  idsQueued(): string[] {
    return this.queued().map(({ deliveryId }) => deliveryId);
  }

  async leased(): Promise<number> {
    const found = await this.store.database.query('select from deliveries where leased_until > now()');
    return found.length;
  }

  advance(ms: number): void {
    this.#nowMs += ms;
  }

  /** Runs the sweep, if it is due, and the pass. @returns the pause that the pass asks for */
  async step(): Promise<number> {
    this.advance(STEP_MS);
    await this.sweep.run();
    return this.pass.run();
  }

  /** Steps until every webhook with due deliveries was checked once more, and swept. */
  async untilChecked(): Promise<void> {
    for (const endsAt = this.#nowMs + CHECKED_WITHIN_MS; this.#nowMs <= endsAt;) await this.step();
  }

  /** Does the workers' part for the jobs of a lane: takes the rows and ends them with a 200. */
  async work(lane: Lane): Promise<Map<WebhookId, number>> {
    const worker = createDeliveryWork(this.store.pool, this.store.pool);
    const taken = await worker.take(this.queue.take(lane) as JobToAdd<DeliveryJob>[], 30);
    await worker.done(
      taken.map((delivery) => ({
        ...delivery,
        startedAgoMs: 1,
        durationMs: 1,
        statusCode: 200,
        answer: null,
      })),
    );
    const served = new Map<WebhookId, number>();
    for (const { webhookId } of taken) served.set(webhookId, (served.get(webhookId) ?? 0) + 1);
    return served;
  }
}
