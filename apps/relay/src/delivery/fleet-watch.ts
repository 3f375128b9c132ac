import { queueInWords, queuesInWords } from '@postrider/queue';
import type { Logger, Metrics } from '@postrider/runtime';
import type { DeadWorker, Fleet, QueueIdentity } from '@postrider/store';

export interface FleetWatchParts {
  readonly fleet: Pick<Fleet, 'workers' | 'deadWorkers'>;
  /** The slots while no worker has announced itself, as when everything starts together. */
  readonly defaultSlots: number;
  /** The relay's own queue. */
  readonly queue: () => QueueIdentity;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  readonly metrics: Pick<Metrics<'relay'>, 'queueWorkers'>;
  /** Monotonic clock, in milliseconds. */
  readonly nowMs?: () => number;
}

/** Workers announce themselves at the same interval. */
const EVERY_MS = 1_000;
/** Ten seconds: after an outage of Redis a worker reads its queue up to 4 s later than the relay. */
const RUNS_BEFORE_WARNING = 10;
/**
 * After an outage of Postgres, no worker counts as dead for this time. The outage ended all locks, and a
 * worker needs up to 5 s to notice that its connections are gone.
 */
const WORKERS_RETURN_WITHIN_MS = 10_000;

export type FleetWatch = ReturnType<typeof createFleetWatch>;

/**
 * Adds up the slots that all workers announce, and finds workers that died. Warns when workers run, and none
 * of them takes jobs from this relay's queue.
 */
export function createFleetWatch(parts: FleetWatchParts) {
  const { fleet, defaultSlots, queue, logger, metrics, nowMs = () => performance.now() } = parts;
  let slots = 0;
  let dead: readonly DeadWorker[] = [];
  let failedAtMs = -Infinity;
  let runsWithoutWorker = 0;

  function noteQueues(own: QueueIdentity, queues: readonly QueueIdentity[]): void {
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
  }

  return {
    slots: () => (slots > 0 ? slots : defaultSlots),
    /** Workers that died, for at least an hour after their death. */
    deadWorkers: () => dead,
    /** Runs once. @returns the pause before the next run, in milliseconds. */
    async run(): Promise<number> {
      dead = []; // also when this run fails: what was dead before an outage may live after it
      const [workers, died] = await Promise.all([fleet.workers(), fleet.deadWorkers()]).catch(
        (error: unknown) => {
          failedAtMs = nowMs();
          throw error;
        },
      );
      if (nowMs() - failedAtMs >= WORKERS_RETURN_WITHIN_MS) dead = died;
      slots = workers.reduce((sum, worker) => sum + worker.slots, 0);
      noteQueues(
        queue(),
        workers.map((worker) => worker.queue),
      );
      return EVERY_MS;
    },
  };
}
