import type { Lane, QueueDepth, Producer } from '@postrider/queue';

export type LaneDepths = Readonly<Record<Lane, QueueDepth>>;

/**
 * How many jobs the lanes hold. Asked of the queue at most once a second while few wait, and counted on from there: a fresh
 * event does not wait for an answer that would change nothing.
 *
 * What other relays have added, and jobs whose time has come, are seen late: for so long a lane may hold one fill of each relay.
 */
export interface LaneDepthTracker {
  /**
   * What was last heard, and what has been added since; asked anew when that is old, or when more jobs wait than
   * `waitingMax` in one of these lanes.
   */
  read(lanes: readonly Lane[], waitingMax: number): Promise<LaneDepths>;
  noteAdded(lane: Lane, jobs: readonly { readonly delayMs: number }[]): void;
  /** A call to the queue failed: the next turn asks before it claims anything. */
  forget(): void;
}

export interface LaneDepthTrackerOptions {
  readonly queue: Pick<Producer, 'depth'>;
  /** A monotonic clock. */
  readonly nowMs?: () => number;
}

const ANSWER_VALID_MS = 1_000;
const NOTHING: LaneDepths = { fast: { waiting: 0, delayed: 0 }, slow: { waiting: 0, delayed: 0 } };

/** What has happened since the queue was last asked, while its answer is on the way. */
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
