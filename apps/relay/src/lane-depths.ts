import type { Lane, QueueDepth, Producer } from '@postrider/queue';

export type LaneDepths = Readonly<Record<Lane, QueueDepth>>;

const ANSWER_VALID_MS = 1_000;
const NOTHING: LaneDepths = { fast: { waiting: 0, delayed: 0 }, slow: { waiting: 0, delayed: 0 } };

/**
 * Tracks the jobs in each lane. The relay asks the queue at most once a second while few jobs wait, and
 * counts what it adds. So a fresh event does not wait for an answer that would change nothing.
 *
 * The relay sees the jobs of other relays, and delayed jobs that became ready, up to a second late. Meanwhile
 * each relay may fill a lane once.
 */
export class LaneDepthTracker {
  readonly #queue: Pick<Producer, 'depth'>;
  readonly #nowMs: () => number;
  #known: LaneDepths | null = null;
  #askedAtMs = 0;
  #asking: Promise<LaneDepths> | null = null;
  /** Jobs added, and whether a call failed, since the question that the queue has not answered yet. */
  #sinceAsked = { added: NOTHING, forgotten: false };

  /** @param nowMs monotonic clock */
  constructor(queue: Pick<Producer, 'depth'>, nowMs: () => number) {
    this.#queue = queue;
    this.#nowMs = nowMs;
  }

  /**
   * The depths: the queue's last answer plus the jobs added since. Asks the queue again after a second. Asks
   * it at once when more than `waitingMax` jobs wait in one of these lanes.
   */
  async read(lanes: readonly Lane[], waitingMax: number): Promise<LaneDepths> {
    const known = this.#known;
    const isValid = this.#nowMs() - this.#askedAtMs < ANSWER_VALID_MS;
    if (known !== null && isValid && lanes.every((lane) => known[lane].waiting <= waitingMax)) return known;
    this.#asking ??= this.#ask().finally(() => (this.#asking = null));
    return this.#asking;
  }

  noteAdded(lane: Lane, jobs: readonly { readonly delayMs: number }[]): void {
    const delayed = jobs.filter((job) => job.delayMs > 0).length;
    const more = { waiting: jobs.length - delayed, delayed };
    const { added } = this.#sinceAsked;
    this.#sinceAsked.added = { ...added, [lane]: sum(added[lane], more) };
    if (this.#known !== null) this.#known = { ...this.#known, [lane]: sum(this.#known[lane], more) };
  }

  /** Call this after a failed call to the queue: the next read asks the queue. */
  forget(): void {
    this.#known = null;
    this.#sinceAsked.forgotten = true;
  }

  async #ask(): Promise<LaneDepths> {
    this.#sinceAsked = { added: NOTHING, forgotten: false };
    const { fast, slow } = await this.#queue.depth();
    this.#askedAtMs = this.#nowMs();
    const { added, forgotten } = this.#sinceAsked;
    const answer = { fast: sum(fast, added.fast), slow: sum(slow, added.slow) };
    this.#known = forgotten ? null : answer;
    return answer;
  }
}

function sum(a: QueueDepth, b: QueueDepth): QueueDepth {
  return { waiting: a.waiting + b.waiting, delayed: a.delayed + b.delayed };
}
