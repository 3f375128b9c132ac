import type { Lane, QueueDepth, Producer } from '@postrider/queue';

export type LaneDepthsNow = Readonly<Record<Lane, QueueDepth>>;

/**
 * How many jobs the lanes hold. Asked of the queue at most once a second while few wait, and counted on from there: a fresh
 * event does not wait for an answer that would change nothing.
 *
 * What other relays have added, and jobs whose time has come, are seen late: for so long a lane may hold one fill of each relay.
 */
export interface LaneDepths {
  /**
   * What was last heard, and what has been added since; asked anew when that is old, or when more jobs wait than
   * `waitingFew` in one of these lanes.
   */
  now(lanes: readonly Lane[], waitingFew: number): Promise<LaneDepthsNow>;
  added(lane: Lane, jobs: readonly { readonly delayMs: number }[]): void;
  /** A call to the queue failed: the next turn asks before it claims anything. */
  forget(): void;
}

export interface LaneDepthsOptions {
  readonly queue: Pick<Producer, 'depth'>;
  /** A monotonic clock. */
  readonly nowMs?: () => number;
}

const FRESH_FOR_MS = 1_000;
const NOTHING: LaneDepthsNow = { fast: { waiting: 0, delayed: 0 }, slow: { waiting: 0, delayed: 0 } };

/** What has happened since the queue was last asked, while its answer is on the way. */
interface SinceAsked {
  readonly added: LaneDepthsNow;
  readonly forgotten: boolean;
}

export function createLaneDepths(options: LaneDepthsOptions): LaneDepths {
  const { queue, nowMs = () => performance.now() } = options;
  let known: LaneDepthsNow | null = null;
  let askedAt = 0;
  let asking: Promise<LaneDepthsNow> | null = null;
  let sinceAsked: SinceAsked = { added: NOTHING, forgotten: false };

  const isFresh = () => nowMs() - askedAt < FRESH_FOR_MS;

  async function ask(): Promise<LaneDepthsNow> {
    sinceAsked = { added: NOTHING, forgotten: false };
    const { fast, slow } = await queue.depth();
    askedAt = nowMs();
    const { added, forgotten } = sinceAsked;
    const answer = { fast: sum(fast, added.fast), slow: sum(slow, added.slow) };
    known = forgotten ? null : answer;
    return answer;
  }

  return {
    async now(lanes, waitingFew) {
      const heard = known;
      if (heard !== null && isFresh() && lanes.every((lane) => heard[lane].waiting <= waitingFew))
        return heard;
      asking ??= ask().finally(() => (asking = null));
      return asking;
    },
    added(lane, jobs) {
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
