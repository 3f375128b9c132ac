import type { Producer, QueueDepth, QueueKey } from '@postrider/queue';

export const LANES = ['fast', 'slow'] as const;

/**
 * Waiting jobs per queue. This keeps the workers busy between two passes, and little is lost when Redis loses
 * its data.
 */
const WAITING_MAX = 128;
/**
 * A queue with more waiting jobs is not refilled. A claim reads up to the limit of every webhook with a
 * backlog, whether it leases one row or a hundred. A claim of a few messages costs as much as one of many.
 */
const REFILL_AT = WAITING_MAX / 2;
/** Delayed jobs in both lanes. They become ready ahead of later work, and the relay cannot reorder them. */
const DELAYED_MAX = 2_000;

/** How many jobs each queue holds: its last answer, and what this relay has added since. */
export class QueueDepths {
  readonly #queue: Pick<Producer, 'depth'>;
  #known: Readonly<Record<QueueKey, QueueDepth>> | null = null;

  constructor(queue: Pick<Producer, 'depth'>) {
    this.#queue = queue;
  }

  /**
   * Asks the queue if one of these seems to be full: workers may have taken jobs. An idle relay asks nothing.
   *
   * @throws QueueUnavailableError
   */
  async refresh(queues: readonly QueueKey[]): Promise<void> {
    if (this.#known !== null && queues.every((queue) => this.free(queue) > 0)) return;
    this.#known = await this.#queue.depth();
  }

  /** Due rows that a queue takes now. */
  free(queue: QueueKey): number {
    const waiting = this.#known?.[queue].waiting ?? Infinity;
    return waiting > REFILL_AT ? 0 : WAITING_MAX - waiting;
  }

  delayed(queue: QueueKey): number {
    return this.#known?.[queue].delayed ?? Infinity;
  }

  /** Deliveries that each lane takes before they are due. */
  freeForDelayed(): number {
    const delayed = LANES.reduce((sum, lane) => sum + this.delayed(lane), 0);
    return Math.max(0, Math.floor((DELAYED_MAX - delayed) / LANES.length));
  }

  noteAdded(queue: QueueKey, jobs: readonly { readonly delayMs: number }[]): void {
    if (this.#known === null) return;
    const { waiting, delayed } = this.#known[queue];
    const more = jobs.filter(({ delayMs }) => delayMs > 0).length;
    const now = { waiting: waiting + jobs.length - more, delayed: delayed + more };
    this.#known = { ...this.#known, [queue]: now };
  }

  /** A call to the queue failed, or too much seems to be delayed. The relay asks before it leases more. */
  forget(): void {
    this.#known = null;
  }
}
