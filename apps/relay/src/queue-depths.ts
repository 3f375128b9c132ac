import type { Producer, QueueDepth, QueueKey } from '@postrider/queue';

export const LANES = ['fast', 'slow'] as const;

/** Waiting jobs per queue: enough to keep the workers busy, and few to lose when Redis loses its data. */
const WAITING_MAX = 128;
/**
 * The fast lane may hold this part of the fleet's slots, if it is more: 128 for each worker with the default
 * settings. In the slow lane an attempt may take ten seconds, so more would wait past their leases.
 */
const WAITING_PART = 1 / 6;
/** Delayed jobs in both lanes. They become ready ahead of later work, and the relay cannot reorder them. */
export const DELAYED_MAX = 2_000;

export type QueueDepths = ReturnType<typeof createQueueDepths>;

/** How many jobs some queues hold: each queue's last answer, and what this relay has added since. */
export function createQueueDepths(
  queue: Pick<Producer, 'depthOf'>,
  keys: readonly QueueKey[],
  delayedMax: number,
  fleetSlots = () => 0,
) {
  const known = new Map<QueueKey, QueueDepth>();

  /** Due rows that a queue takes now. */
  function rowsMax(key: QueueKey): number {
    const waiting = known.get(key)?.waiting ?? Infinity;
    const ofSlots = key === 'fast' ? Math.floor(fleetSlots() * WAITING_PART) : 0;
    return Math.max(0, Math.max(WAITING_MAX, ofSlots) - waiting);
  }

  /** Rows that each queue takes now and that are due later. */
  function delayedRowsMax(): number {
    const delayed = keys.reduce((sum, key) => sum + (known.get(key)?.delayed ?? Infinity), 0);
    return Math.max(0, Math.floor((delayedMax - delayed) / keys.length));
  }

  return {
    rowsMax,
    delayedRowsMax,
    /**
     * Asks the used queues that are unknown or seem full: workers may have taken jobs. Asks all queues when
     * too many jobs seem delayed: these become waiting without the relay. An idle relay asks nothing.
     *
     * @throws QueueUnavailableError
     */
    async refresh(used: readonly QueueKey[]): Promise<void> {
      const full = keys.filter((key) => used.includes(key) && rowsMax(key) === 0);
      const asked = delayedRowsMax() === 0 ? keys : full;
      await Promise.all(asked.map(async (key) => known.set(key, await queue.depthOf(key))));
    },
    noteAdded(key: QueueKey, jobs: readonly { readonly delayMs: number }[]): void {
      const depth = known.get(key);
      if (depth === undefined) return;
      const later = jobs.filter(({ delayMs }) => delayMs > 0).length;
      known.set(key, {
        waiting: depth.waiting + jobs.length - later,
        delayed: depth.delayed + later,
      });
    },
    /** A call to the queue failed. The relay asks before it leases more. */
    forget: () => known.clear(),
  };
}
