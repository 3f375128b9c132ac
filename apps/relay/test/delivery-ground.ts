import type { WebhookId } from '@postrider/domain';
import type { DeliveryJob, Lane, Timed } from '@postrider/queue';
import { createDeliveryTimetable, createDeliveryWork } from '@postrider/store';
import type { ClaimedDelivery } from '@postrider/store';
import { createDeliveryClaims } from '../src/delivery-claims.ts';
import { createDeliveryNews } from '../src/delivery-news.ts';
import type { DeliveryNews } from '../src/delivery-news.ts';
import { createDeliveryRounds } from '../src/delivery-rounds.ts';
import type { DeliveryRounds } from '../src/delivery-rounds.ts';
import { inMemoryQueue } from './in-memory-queue.ts';
import type { RelayStore } from './open-relay-store.ts';

export const BUSY_PAUSE_MS = 10;

/** A relay's rounds and news on a real database and a queue in memory, with what they do in view. */
export class DeliveryGround {
  readonly store: RelayStore;
  readonly queue = inMemoryQueue();
  readonly claims: (readonly ClaimedDelivery[])[] = [];
  /** The webhooks of each claim. */
  readonly asked: WebhookId[][] = [];
  /** How often the store was asked to walk. */
  walks = 0;
  duringWalk: () => void = () => undefined;
  /** Its answer is there, and the relay does not have it yet. */
  afterWalk: () => void = () => undefined;
  duringClaim: () => Promise<void> = async () => undefined;
  rounds: DeliveryRounds;
  news: DeliveryNews;
  /** The relay's clock stands still but for the pauses between rounds. */
  #nowMs = 0;

  constructor(store: RelayStore) {
    this.store = store;
    ({ rounds: this.rounds, news: this.news } = this.newRelay());
  }

  newRelay(): { rounds: DeliveryRounds; news: DeliveryNews } {
    const timetable = createDeliveryTimetable(this.store.claims);
    const nowMs = () => this.#nowMs;
    const claims = createDeliveryClaims({
      store: {
        ...timetable,
        claim: async (admissions, limits) => {
          this.asked.push(admissions.map(({ webhookId }) => webhookId));
          const claimed = await timetable.claim(admissions, limits);
          const hook = this.duringClaim;
          this.duringClaim = async () => undefined;
          await hook();
          return claimed;
        },
      },
      ...{ queue: this.queue, leaseSeconds: 30, nowMs },
      onClaim: (claimed) => this.claims.push(claimed),
    });
    const walk: typeof timetable.walk = async (...args) => {
      this.walks += 1;
      this.duringWalk();
      const found = await timetable.walk(...args);
      this.afterWalk();
      return found;
    };
    const rounds = createDeliveryRounds({ store: { walk }, claims, nowMs });
    const frontOf = rounds.frontOf.bind(rounds);
    const news = createDeliveryNews({ claims, frontOf, onBacklog: (ids) => rounds.note(ids), nowMs });
    return { rounds, news };
  }

  /** A wake-up for these arrives. @returns the pause that the turn asks for. */
  async tell(...webhooks: WebhookId[]): Promise<number> {
    this.news.note(webhooks);
    return this.news.turn();
  }

  jobs(lane: Lane): Timed<DeliveryJob>[] {
    return this.queue.jobs(lane) as Timed<DeliveryJob>[];
  }

  queued(): Timed<DeliveryJob>[] {
    return [...this.jobs('fast'), ...this.jobs('slow')];
  }

  idsQueued(): string[] {
    return this.queued().map(({ deliveryId }) => deliveryId);
  }

  async leased(): Promise<number> {
    const found = await this.store.database.query('select from deliveries where leased_until > now()');
    return found.length;
  }

  pass(ms: number): void {
    this.#nowMs += ms;
  }

  /** A round, when the one before wants it. */
  async turn(): Promise<number> {
    this.pass(BUSY_PAUSE_MS);
    return this.rounds.turn();
  }

  /** Rounds until all webhooks have been walked over once more. */
  async untilWalked(): Promise<void> {
    for (const before = this.walks; this.walks === before;) await this.turn();
  }

  /** What workers would do with the jobs of a lane: take the rows and end them with a 200. */
  async work(lane: Lane): Promise<Map<WebhookId, number>> {
    const worker = createDeliveryWork(this.store.pool, this.store.pool);
    const taken = await worker.take(this.queue.take(lane) as Timed<DeliveryJob>[], 30);
    const times = { startedAgoMs: 1, endedAgoMs: 0, durationMs: 1 };
    await worker.done(taken.map((delivery) => ({ ...delivery, ...times, statusCode: 200, answer: null })));
    const served = new Map<WebhookId, number>();
    for (const { webhookId } of taken) served.set(webhookId, (served.get(webhookId) ?? 0) + 1);
    return served;
  }
}
