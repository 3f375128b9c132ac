import type { Lane, QueueDepth, Timetable } from '@postrider/queue';

export type LaneDepthsNow = Readonly<Record<Lane, QueueDepth>>;

/**
 * How many jobs the lanes hold. Asked of the queue at most every 50 ms while there is plenty of room, and counted on
 * from there: a fresh event does not wait for an answer that would change nothing.
 */
export interface LaneDepths {
  /** What was last heard, and what has been added since; asked anew when that is old or leaves little room. */
  now(): Promise<LaneDepthsNow>;
  added(lane: Lane, jobs: readonly { readonly delayMs: number }[]): void;
  /** A call to the queue failed: the next turn asks before it claims anything. */
  forget(): void;
}

export interface LaneDepthsOptions {
  readonly queue: Pick<Timetable, 'depth'>;
  /** As many waiting jobs as leave plenty of room; with more, the depth is asked for each time. */
  readonly waitingFew: number;
  /** The same of delayed jobs. */
  readonly delayedFew: number;
  /** A monotonic clock. */
  readonly nowMs?: () => number;
}

const FRESH_FOR_MS = 50;

export function createLaneDepths(options: LaneDepthsOptions): LaneDepths {
  const { queue, waitingFew, delayedFew, nowMs = () => performance.now() } = options;
  let known: Record<Lane, QueueDepth> | null = null;
  let askedAt = 0;

  const plentyOfRoom = ({ waiting, delayed }: QueueDepth) => waiting <= waitingFew && delayed <= delayedFew;
  const isFresh = () => nowMs() - askedAt < FRESH_FOR_MS;

  return {
    async now() {
      if (known !== null && isFresh() && plentyOfRoom(known.fast) && plentyOfRoom(known.slow)) return known;
      const { fast, slow } = await queue.depth();
      askedAt = nowMs();
      known = { fast, slow };
      return known;
    },
    added(lane, jobs) {
      if (known === null) return;
      const delayed = jobs.filter((job) => job.delayMs > 0).length;
      const before = known[lane];
      known = {
        ...known,
        [lane]: { waiting: before.waiting + jobs.length - delayed, delayed: before.delayed + delayed },
      };
    },
    forget() {
      known = null;
    },
  };
}
