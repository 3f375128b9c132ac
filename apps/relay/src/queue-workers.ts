import { queueInWords, queuesInWords } from '@postrider/queue';
import type { Logger, Metrics } from '@postrider/runtime';
import type { QueueIdentity } from '@postrider/store';

export interface QueueWorkersParts {
  /** The relay's own queue. */
  readonly queue: () => QueueIdentity;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  readonly metrics: Pick<Metrics<'relay'>, 'queueWorkers'>;
}

/** Ten seconds: after an outage of Redis a worker reads its queue up to 4 s later than the relay. */
const RUNS_BEFORE_WARNING = 10;

/**
 * Warns when workers run, and none takes jobs from this relay's queue.
 *
 * @returns a function that gets the queues of all workers each second
 */
export function watchQueueWorkers({ queue, logger, metrics }: QueueWorkersParts) {
  let runsWithoutWorker = 0;
  return (queues: readonly QueueIdentity[]): void => {
    const own = queue();
    if (own.id === null) return; // Redis is away
    const sharing = queues.filter(({ id }) => id === own.id).length;
    metrics.queueWorkers.set(sharing);
    if (sharing > 0 || queues.length === 0) {
      if (runsWithoutWorker >= RUNS_BEFORE_WARNING) logger.info('workers take jobs from this queue again');
      runsWithoutWorker = 0;
      return;
    }
    runsWithoutWorker += 1;
    if (runsWithoutWorker !== RUNS_BEFORE_WARNING) return;
    logger.warn('no worker takes jobs from this queue', {
      queue: queueInWords(own),
      queues_of_workers: queuesInWords(queues),
    });
  };
}
