import type { Producer } from '@postrider/queue';
import { evicts, QUEUE_KEYS } from '@postrider/queue';
import type { Logger, Metrics } from '@postrider/runtime';
import type { Outstanding, UnsentMail } from '@postrider/store';

/** Gauges are at most this old, while the pass succeeds. */
export const GAUGES_EVERY_MS = 15_000;

export interface GaugesParts {
  readonly metrics: Metrics<'relay'>;
  readonly queue: Pick<Producer, 'depth' | 'evictionPolicy'>;
  readonly readOutstanding: () => Promise<Outstanding>;
  readonly readUnsentMail: () => Promise<UnsentMail>;
  readonly oldestSnapshotSeconds: () => Promise<number>;
  /**
   * Called last: a Redis user without the right to INFO makes the read fail, and the other gauges are set by
   * then.
   */
  readonly onEvictionPolicy: (policy: string | null) => void;
}

/**
 * Sets the gauges for outstanding deliveries, unsent mail and queues. Logs and metrics call this pass
 * `report`.
 *
 * @returns the pause before the next run, in milliseconds.
 */
export async function gaugesPass(parts: GaugesParts): Promise<number> {
  const { metrics, queue } = parts;
  metrics.oldestSnapshotAge.set(await parts.oldestSnapshotSeconds());
  const deliveries = await parts.readOutstanding();
  metrics.outstandingDeliveries.set(deliveries.outstanding);
  metrics.oldestDueAge.set(deliveries.oldestDueSeconds);
  metrics.oldestFirstAttemptAge.set(deliveries.oldestFirstAttemptSeconds);
  const mail = await parts.readUnsentMail();
  metrics.unsentMail.set(mail.emails);
  metrics.oldestUnsentMailAge.set(mail.oldestDueSeconds);
  const depths = await queue.depth();
  for (const key of QUEUE_KEYS) {
    metrics.queueDepth.set({ queue: key, state: 'waiting' }, depths[key].waiting);
    metrics.queueDepth.set({ queue: key, state: 'delayed' }, depths[key].delayed);
  }
  parts.onEvictionPolicy(await queue.evictionPolicy());
  return GAUGES_EVERY_MS;
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
