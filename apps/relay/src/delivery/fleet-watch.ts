import type { DeadWorker, Fleet, QueueIdentity } from '@postrider/store';

export interface FleetWatchParts {
  readonly fleet: Pick<Fleet, 'workers' | 'deadWorkers'>;
  /** The slots while no worker has announced itself, as when everything starts together. */
  readonly defaultSlots: number;
  /** Receives the queues of all workers, in each run. */
  readonly onQueues: (queues: readonly QueueIdentity[]) => void;
  /** Monotonic clock, in milliseconds. */
  readonly nowMs?: () => number;
}

/** Workers announce themselves at the same interval. */
const EVERY_MS = 1_000;
/**
 * After an outage of Postgres, no worker counts as dead for this time. The outage ended all locks, and a
 * worker needs up to 5 s to notice that its connections are gone.
 */
const WORKERS_RETURN_WITHIN_MS = 10_000;

export type FleetWatch = ReturnType<typeof createFleetWatch>;

/** Adds up the slots that all workers announce, and finds workers that died. */
export function createFleetWatch(parts: FleetWatchParts) {
  const { fleet, defaultSlots, onQueues, nowMs = () => performance.now() } = parts;
  let slots = 0;
  let dead: readonly DeadWorker[] = [];
  let failedAtMs = -Infinity;

  return {
    slots: () => (slots > 0 ? slots : defaultSlots),
    /** Workers that died, for at least an hour after their death. */
    deadWorkers: () => dead,
    /** Runs once. @returns the pause before the next run, in milliseconds. */
    async run(): Promise<number> {
      dead = []; // stays empty when this run fails: after an outage, a worker on the old list may live
      const [workers, died] = await Promise.all([fleet.workers(), fleet.deadWorkers()]).catch(
        (error: unknown) => {
          failedAtMs = nowMs();
          throw error;
        },
      );
      if (nowMs() - failedAtMs >= WORKERS_RETURN_WITHIN_MS) dead = died;
      slots = workers.reduce((sum, worker) => sum + worker.slots, 0);
      onQueues(workers.map(({ queue }) => queue));
      return EVERY_MS;
    },
  };
}
