import type { WebhookId } from '@postrider/domain';
import type { DeliveryJob, Lane, JobToAdd } from '@postrider/queue';
import type { NoWork } from '@postrider/runtime';
import { createDeliveryOutbox, createDeliveryWork } from '@postrider/store';
import type { ClaimedDelivery, DeliveryPosition } from '@postrider/store';
import { DeliveryClaims } from '../src/delivery-claims.ts';
import { WakeUpPass } from '../src/delivery-wake-up-pass.ts';
import { PollingPass } from '../src/delivery-polling-pass.ts';
import { SweepPass } from '../src/delivery-sweep-pass.ts';
import { inMemoryQueue } from './in-memory-queue.ts';
import type { RelayStore } from './setup-relay-store.ts';

export const BUSY_PAUSE_MS = 10;
const SCAN_EVERY_MAX_MS = 2_000;

/** The relay's three delivery passes on a real database and a queue in memory. Records what they do. */
export class DeliveryFixture {
  readonly store: RelayStore;
  readonly queue = inMemoryQueue();
  readonly claims: (readonly ClaimedDelivery[])[] = [];
  /** The webhooks of each claim. */
  readonly asked: WebhookId[][] = [];
  /** The position where the last claim for each webhook began. */
  readonly claimedFrom = new Map<WebhookId, DeliveryPosition | null>();
  /** The relay's count of deliveries in flight, per webhook for its account, at the last claim. */
  readonly accountInFlight = new Map<WebhookId, number>();
  /** Number of sweeps and scans. */
  sweeps = 0;
  scans = 0;
  /** May throw, as if the database were away. */
  duringSweep: () => void = () => undefined;
  duringScan: () => void = () => undefined;
  /** Runs between the scan's statement and the relay's use of its result. */
  afterScan: () => Promise<void> = async () => undefined;
  duringClaim: () => Promise<void> = async () => undefined;
  polling: PollingPass;
  wakeUps: WakeUpPass;
  sweep: SweepPass;
  /** The relay's clock. It moves only by `advance`. */
  #nowMs = 0;

  constructor(store: RelayStore) {
    this.store = store;
    ({ polling: this.polling, wakeUps: this.wakeUps, sweep: this.sweep } = this.newRelay());
  }

  newRelay(): { polling: PollingPass; wakeUps: WakeUpPass; sweep: SweepPass } {
    const outbox = createDeliveryOutbox(this.store.claims);
    const nowMs = () => this.#nowMs;
    const claims = new DeliveryClaims({
      store: {
        ...outbox,
        claim: async (requests, limits) => {
          this.asked.push(requests.map(({ webhookId }) => webhookId));
          for (const { webhookId, scanFrom, accountInFlight } of requests) {
            this.claimedFrom.set(webhookId, scanFrom ?? null);
            this.accountInFlight.set(webhookId, accountInFlight ?? 0);
          }
          const claimed = await outbox.claim(requests, limits);
          const hook = this.duringClaim;
          this.duringClaim = async () => undefined;
          await hook();
          return claimed;
        },
      },
      queue: this.queue,
      leaseSeconds: 30,
      fleetSlots: () => 1_024,
      nowMs,
      onClaim: (claimed) => this.claims.push(claimed),
    });
    const scan: typeof outbox.scan = async (...args) => {
      this.scans += 1;
      this.duringScan();
      const found = await outbox.scan(...args);
      await this.afterScan();
      return found;
    };
    const sweepOnce: typeof outbox.sweep = async (...args) => {
      this.sweeps += 1;
      this.duringSweep();
      return outbox.sweep(...args);
    };
    const polling = new PollingPass({ store: { scan }, claims, nowMs });
    const wakeUps = new WakeUpPass({ claims, onBacklog: (ids) => polling.add(ids), nowMs });
    const onFound = (ids: readonly WebhookId[]): void => polling.addOnce(ids);
    return {
      polling,
      wakeUps,
      sweep: new SweepPass({ store: { ...outbox, sweep: sweepOnce }, claims, onFound, nowMs }),
    };
  }

  /** A wake-up names these webhooks. @returns the pause before the next run, in milliseconds. */
  async wakeUp(...webhooks: WebhookId[]): Promise<number | NoWork> {
    this.wakeUps.add(webhooks);
    return this.wakeUps.run();
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

  /** Runs the sweep, if it is due, and the polling pass. @returns the pause that the polling pass asks for */
  async poll(): Promise<number> {
    this.advance(BUSY_PAUSE_MS);
    await this.sweep.run();
    return this.polling.run();
  }

  /** Polls until a sweep, and then a scan, has read every webhook with outstanding deliveries again. */
  async untilSwept(): Promise<void> {
    for (const before = this.sweeps; this.sweeps === before;) await this.poll();
    await this.untilScanned();
  }

  /** Polls until a scan has read the webhooks that the relay knows. */
  async untilScanned(): Promise<void> {
    const endsAt = this.#nowMs + SCAN_EVERY_MAX_MS; // a relay that knows no webhook scans none
    for (const before = this.scans; this.scans === before && this.#nowMs <= endsAt;) await this.poll();
  }

  /** Does the workers' part for the jobs of a lane: takes the rows and ends them with a 200. */
  async work(lane: Lane): Promise<Map<WebhookId, number>> {
    const worker = createDeliveryWork(this.store.pool, this.store.pool);
    const taken = await worker.take(this.queue.take(lane) as JobToAdd<DeliveryJob>[], 30);
    await worker.done(
      taken.map((delivery) => ({
        ...delivery,
        startedAgoMs: 1,
        endedAgoMs: 0,
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
