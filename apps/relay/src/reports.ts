import type { QueueDepth, QueueKey, Timetable } from '@postrider/queue';
import { QUEUE_KEYS } from '@postrider/queue';
import type { Metrics } from '@postrider/runtime';
import type { Outstanding } from '@postrider/store';

/** How often the gauges are read, and so how old they are at the most. */
export const REPORT_EVERY_MS = 15_000;

/** Reads the outstanding deliveries and the queues into the gauges. @returns the pause before the next report. */
export async function reportTurn(
  metrics: Metrics<'relay'>,
  readOutstanding: () => Promise<Outstanding>,
  queue: Pick<Timetable, 'depth'>,
): Promise<number> {
  const deliveries = await readOutstanding();
  metrics.outstandingDeliveries.set(deliveries.outstanding);
  metrics.oldestDueAge.set(deliveries.oldestDueSeconds);
  const depths = await queue.depth();
  for (const key of QUEUE_KEYS) setDepth(metrics, key, depths[key]);
  return REPORT_EVERY_MS;
}

function setDepth(metrics: Metrics<'relay'>, queue: QueueKey, depth: QueueDepth): void {
  metrics.queueDepth.set({ queue, state: 'waiting' }, depth.waiting);
  metrics.queueDepth.set({ queue, state: 'delayed' }, depth.delayed);
}
