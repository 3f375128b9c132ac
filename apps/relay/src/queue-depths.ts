import type { Lane, Producer, QueueDepth } from '@postrider/queue';

export const LANES = ['fast', 'slow'] as const;

/**
 * Waiting jobs per lane. This keeps the workers busy between two passes, and little is lost when Redis loses
 * its data.
 */
const WAITING_MAX = 128;
/**
 * A lane with more waiting jobs is not refilled. A claim reads up to the limit of every webhook with a
 * backlog, whether it leases one row or a hundred.
 */
const REFILL_AT = WAITING_MAX / 2;
/** Delayed jobs in both lanes. They become ready ahead of later work, and the relay cannot reorder them. */
const DELAYED_MAX = 2_000;

/** How many jobs each lane holds: the queue's last answer, and what this relay has added since. */
export class QueueDepths {
  readonly #queue: Pick<Producer, 'depth'>;
  #known: Readonly<Record<Lane, QueueDepth>> | null = null;

  constructor(queue: Pick<Producer, 'depth'>) {
    this.#queue = queue;
  }

  /**
   * Asks the queue if one of these lanes seems to be full: workers may have taken jobs.
   *
   * @throws QueueUnavailableError
   */
  async refresh(lanes: readonly Lane[]): Promise<void> {
    if (this.#known !== null && lanes.every((lane) => this.free(lane) > 0)) return;
    const { fast, slow } = await this.#queue.depth();
    this.#known = { fast, slow };
  }

  /** Due deliveries that a lane takes now. */
  free(lane: Lane): number {
    const waiting = this.#known?.[lane].waiting ?? Infinity;
    return waiting > REFILL_AT ? 0 : WAITING_MAX - waiting;
  }

  /** Deliveries that each lane takes before they are due. */
  freeForDelayed(): number {
    const delayed = LANES.reduce((sum, lane) => sum + (this.#known?.[lane].delayed ?? Infinity), 0);
    return Math.max(0, Math.floor((DELAYED_MAX - delayed) / LANES.length));
  }

  noteAdded(lane: Lane, jobs: readonly { readonly delayMs: number }[]): void {
    if (this.#known === null) return;
    const { waiting, delayed } = this.#known[lane];
    const more = jobs.filter(({ delayMs }) => delayMs > 0).length;
    const now = { waiting: waiting + jobs.length - more, delayed: delayed + more };
    this.#known = { ...this.#known, [lane]: now };
  }

  /** A call to the queue failed. The relay asks it before it leases more. */
  forget(): void {
    this.#known = null;
  }
}
