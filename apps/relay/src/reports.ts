import type { QueueDepth, QueueKey, Producer } from '@postrider/queue';
import { evicts, QUEUE_KEYS } from '@postrider/queue';
import type { Logger, Metrics } from '@postrider/runtime';
import type { Outstanding } from '@postrider/store';

/** Time between two reports: gauges are at most this old. */
export const REPORT_EVERY_MS = 15_000;

/** What the gauges read from Postgres. */
export interface ReportedStore {
  readOutstanding(): Promise<Outstanding>;
  oldestSnapshotSeconds(): Promise<number>;
}

/**
 * Sets the gauges for outstanding deliveries and queues. @returns the pause before the next report.
 *
 * @param onEvictionPolicy receives Redis's policy last. So the other gauges work for a Redis user without
 * INFO.
 */
export async function reportPass(
  metrics: Metrics<'relay'>,
  store: ReportedStore,
  queue: Pick<Producer, 'depth' | 'evictionPolicy'>,
  onEvictionPolicy: (policy: string | null) => void,
): Promise<number> {
  metrics.oldestSnapshotAge.set(await store.oldestSnapshotSeconds());
  const deliveries = await store.readOutstanding();
  metrics.outstandingDeliveries.set(deliveries.outstanding);
  metrics.oldestDueAge.set(deliveries.oldestDueSeconds);
  metrics.oldestFirstAttemptAge.set(deliveries.oldestFirstAttemptSeconds);
  const depths = await queue.depth();
  for (const key of QUEUE_KEYS) setDepth(metrics, key, depths[key]);
  onEvictionPolicy(await queue.evictionPolicy());
  return REPORT_EVERY_MS;
}

function setDepth(metrics: Metrics<'relay'>, queue: QueueKey, depth: QueueDepth): void {
  metrics.queueDepth.set({ queue, state: 'waiting' }, depth.waiting);
  metrics.queueDepth.set({ queue, state: 'delayed' }, depth.delayed);
}

/**
 * Reports a Redis that may evict jobs: in the gauge, and once in the log per new policy. Each evicted job is
 * a delivery that waits for its lease to expire.
 */
export function createEvictionWatch(
  metrics: Pick<Metrics<'relay'>, 'redisEvicts'>,
  logger: Logger,
): (policy: string | null) => void {
  let last: string | null = null;
  return (policy) => {
    const mayEvict = evicts(policy);
    metrics.redisEvicts.set(mayEvict ? 1 : 0);
    if (mayEvict && policy !== last) {
      logger.warn('Redis may evict jobs: set its maxmemory-policy to noeviction', {
        maxmemory_policy: policy,
      });
    }
    last = policy;
  };
}
