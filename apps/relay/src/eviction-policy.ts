import { evicts } from '@postrider/queue';
import type { Logger, Metrics } from '@postrider/runtime';

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
