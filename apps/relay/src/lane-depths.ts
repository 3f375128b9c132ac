import type { Lane, QueueDepth, Producer } from '@postrider/queue';

export type LaneDepths = Readonly<Record<Lane, QueueDepth>>;

/**
 * Tracks the jobs in each lane. The relay asks the queue at most once a second while few jobs wait, and
 * counts what it adds. So a fresh event does not wait for an answer that would change nothing.
 *
 * The relay sees the jobs of other relays, and delayed jobs that became ready, up to a second late. Meanwhile
 * each relay may fill a lane once.
 */
export interface LaneDepthTracker {
  /**
   * The depths: the queue's last answer plus the jobs added since. Asks the queue again when that answer is a
   * second old, or when one of these lanes has more than `waitingMax` waiting jobs.
   */
  read(lanes: readonly Lane[], waitingMax: number): Promise<LaneDepths>;
  noteAdded(lane: Lane, jobs: readonly { readonly delayMs: number }[]): void;
  /** Call this after a failed call to the queue: the next read asks the queue. */
  forget(): void;
}

export interface LaneDepthTrackerOptions {
  readonly queue: Pick<Producer, 'depth'>;
  /** Monotonic clock, in milliseconds. */
  readonly nowMs?: () => number;
}

const ANSWER_VALID_MS = 1_000;
const NOTHING: LaneDepths = { fast: { waiting: 0, delayed: 0 }, slow: { waiting: 0, delayed: 0 } };

/** Jobs added, and failed calls, since the question that the queue has not answered yet. */
interface SinceAsked {
  readonly added: LaneDepths;
  readonly forgotten: boolean;
}

export function createLaneDepthTracker(options: LaneDepthTrackerOptions): LaneDepthTracker {
  const { queue, nowMs = () => performance.now() } = options;
  let known: LaneDepths | null = null;
  let askedAt = 0;
  let asking: Promise<LaneDepths> | null = null;
  let sinceAsked: SinceAsked = { added: NOTHING, forgotten: false };

  const isFresh = () => nowMs() - askedAt < ANSWER_VALID_MS;

  async function ask(): Promise<LaneDepths> {
    sinceAsked = { added: NOTHING, forgotten: false };
    const { fast, slow } = await queue.depth();
    askedAt = nowMs();
    const { added, forgotten } = sinceAsked;
    const answer = { fast: sum(fast, added.fast), slow: sum(slow, added.slow) };
    known = forgotten ? null : answer;
    return answer;
  }

  return {
    async read(lanes, waitingMax) {
      const last = known;
      if (last !== null && isFresh() && lanes.every((lane) => last[lane].waiting <= waitingMax)) return last;
      asking ??= ask().finally(() => (asking = null));
      return asking;
    },
    noteAdded(lane, jobs) {
      const delayed = jobs.filter((job) => job.delayMs > 0).length;
      const more = { waiting: jobs.length - delayed, delayed };
      const { added } = sinceAsked;
      sinceAsked = { ...sinceAsked, added: { ...added, [lane]: sum(added[lane], more) } };
      if (known !== null) known = { ...known, [lane]: sum(known[lane], more) };
    },
    forget() {
      known = null;
      sinceAsked = { ...sinceAsked, forgotten: true };
    },
  };
}

function sum(a: QueueDepth, b: QueueDepth): QueueDepth {
  return { waiting: a.waiting + b.waiting, delayed: a.delayed + b.delayed };
}
