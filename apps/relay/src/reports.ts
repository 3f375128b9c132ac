import type { QueueDepth, QueueKey, Timetable } from '@postrider/queue';
import { QUEUE_KEYS } from '@postrider/queue';
import type { Metrics } from '@postrider/runtime';
import type { Backlog } from '@postrider/store';

/** How often the gauges are read, and so how old they are at the most. */
export const REPORT_EVERY_MS = 15_000;

/** Reads the backlog and the queues into the gauges. @returns the pause before the next report. */
export async function reportTurn(
  metrics: Metrics<'relay'>,
  readBacklog: () => Promise<Backlog>,
  queue: Pick<Timetable, 'depth'>,
): Promise<number> {
  const backlog = await readBacklog();
  metrics.outstandingDeliveries.set(backlog.outstanding);
  metrics.oldestDueAge.set(backlog.oldestDueSeconds);
  const depths = await queue.depth();
  for (const key of QUEUE_KEYS) setDepth(metrics, key, depths[key]);
  return REPORT_EVERY_MS;
}

function setDepth(metrics: Metrics<'relay'>, queue: QueueKey, depth: QueueDepth): void {
  metrics.queueDepth.set({ queue, state: 'waiting' }, depth.waiting);
  metrics.queueDepth.set({ queue, state: 'delayed' }, depth.delayed);
}
