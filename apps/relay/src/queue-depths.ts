import type { Producer, QueueDepth, QueueKey } from '@postrider/queue';

export const LANES = ['fast', 'slow'] as const;

/**
 * Waiting jobs per queue. They keep the workers busy between two passes, and little is lost when Redis loses
 * its data.
 */
const WAITING_MAX = 128;
/**
 * In the fast lane a fleet may have this part of its slots waiting: 128 for each worker with the default
 * settings. In the slow lane an attempt may take ten seconds, so more would wait past their leases.
 */
const WAITING_PART = 1 / 6;
/** Delayed jobs in both lanes. They become ready ahead of later work, and the relay cannot reorder them. */
export const DELAYED_MAX = 2_000;

/** How many jobs some queues hold: each queue's last answer, and what this relay has added since. */
export class QueueDepths {
  readonly #queue: Pick<Producer, 'depthOf'>;
  readonly #keys: readonly QueueKey[];
  readonly #delayedMax: number;
  readonly #fleetSlots: () => number;
  readonly #known = new Map<QueueKey, QueueDepth>();

  constructor(
    queue: Pick<Producer, 'depthOf'>,
    keys: readonly QueueKey[],
    delayedMax: number,
    fleetSlots = () => 0,
  ) {
    this.#queue = queue;
    this.#keys = keys;
    this.#delayedMax = delayedMax;
    this.#fleetSlots = fleetSlots;
  }

  /**
   * Asks the used queues whose depth is unknown, or that seem to be full: workers may have taken jobs. It
   * asks all when too many jobs seem to be delayed: these become waiting without the relay. An idle relay
   * asks nothing.
   *
   * @throws QueueUnavailableError
   */
  async refresh(used: readonly QueueKey[]): Promise<void> {
    const asked =
      this.delayedRowsMax() === 0
        ? this.#keys
        : this.#keys.filter((key) => used.includes(key) && this.rowsMax(key) === 0);
    await Promise.all(asked.map(async (key) => this.#known.set(key, await this.#queue.depthOf(key))));
  }

  /** Due rows that a queue takes now. */
  rowsMax(queue: QueueKey): number {
    const waiting = this.#known.get(queue)?.waiting ?? Infinity;
    const ofSlots = queue === 'fast' ? Math.floor(this.#fleetSlots() * WAITING_PART) : 0;
    return Math.max(0, Math.max(WAITING_MAX, ofSlots) - waiting);
  }

  /** Rows that each queue takes now and that are due later. */
  delayedRowsMax(): number {
    const delayed = this.#keys.reduce((sum, key) => sum + (this.#known.get(key)?.delayed ?? Infinity), 0);
    return Math.max(0, Math.floor((this.#delayedMax - delayed) / this.#keys.length));
  }

  noteAdded(queue: QueueKey, jobs: readonly { readonly delayMs: number }[]): void {
    const known = this.#known.get(queue);
    if (known === undefined) return;
    const later = jobs.filter(({ delayMs }) => delayMs > 0).length;
    const { waiting, delayed } = known;
    this.#known.set(queue, { waiting: waiting + jobs.length - later, delayed: delayed + later });
  }

  /** A call to the queue failed. The relay asks before it leases more. */
  forget(): void {
    this.#known.clear();
  }
}
