import type { QueueDepth, QueueKey, Producer } from '@postrider/queue';
import { QUEUE_KEYS } from '@postrider/queue';
import type { Metrics } from '@postrider/runtime';
import type { Outstanding } from '@postrider/store';

/** How often the gauges are read, and so how old they are at the most. */
export const REPORT_EVERY_MS = 15_000;

/** What the gauges say of Postgres. */
export interface ReportedStore {
  readOutstanding(): Promise<Outstanding>;
  oldestSnapshotSeconds(): Promise<number>;
}

/**
 * Reads the outstanding deliveries and the queues into the gauges. @returns the pause before the next report.
 *
 * @param onEvictionPolicy told of Redis's policy, last of all: a user of Redis without INFO still gets the rest.
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
