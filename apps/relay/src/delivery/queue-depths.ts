import { waitingMax } from '@postrider/queue';
import type { Producer, QueueDepth, QueueKey } from '@postrider/queue';

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
    const waiting = known.get(key)?.waiting ?? Infinity; // unknown counts as full, so `refresh` asks
    return Math.max(0, waitingMax(key, fleetSlots()) - waiting);
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
     * Asks each used queue whose depth is unknown or full. Asks all queues when no delayed job fits, because
     * delayed jobs become waiting by themselves. So an idle relay asks nothing.
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
    /** A call to the queue failed. The relay asks for all depths again before it leases more. */
    forget: () => known.clear(),
  };
}
