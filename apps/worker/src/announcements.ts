import { settlesWithin } from '@postrider/limits';
import { periodicTask } from '@postrider/runtime';
import type { Logger } from '@postrider/runtime';
import { WORKER_COUNTS_SECONDS } from '@postrider/store';
import type { Fleet, QueueIdentity } from '@postrider/store';

export interface AnnouncementsParts {
  readonly fleet: Pick<Fleet, 'announce' | 'leave'>;
  readonly workerNumber: number;
  /** See `announcedSlots`. */
  readonly slots: number;
  /** The queue that this worker takes jobs from. */
  readonly queue: () => QueueIdentity;
  readonly logger: Pick<Logger, 'debug' | 'info' | 'warn'>;
}

const EVERY_MS = 1_000;
/** Shorter, because a worker whose lock is free counts as dead after 2 s without an announcement. */
const RETRY_MS = 250;
const LEAVE_TIMEOUT_MS = 1_000;

/**
 * Announces this worker every second. Relays add up the slots of all workers and compute shares from them.
 * They warn when no worker shares their queue, and lease the deliveries of a dead worker again.
 */
export function createAnnouncements({ fleet, workerNumber, slots, queue, logger }: AnnouncementsParts) {
  let announcedAtMs = -Infinity;
  const task = periodicTask({
    async run() {
      const startedAtMs = performance.now();
      await fleet.announce(workerNumber, slots, queue());
      announcedAtMs = startedAtMs;
      return Math.max(0, EVERY_MS - (performance.now() - startedAtMs));
    },
    pauseMs: RETRY_MS,
    onError(error, again) {
      announcedAtMs = -Infinity;
      logger[again ? 'debug' : 'warn']('worker not announced: it fetches no jobs', { error });
    },
    onRecovery: () => logger.info('worker announced again'),
  });

  return {
    /**
     * False: this worker does not reach Postgres, so it must fetch no jobs. They would wait here, while other
     * workers could do them.
     */
    isAnnounced: (): boolean => performance.now() - announcedAtMs < 1_000 * WORKER_COUNTS_SECONDS,
    /** The log says which process has the number that the console and the rows of `deliveries` show. */
    async start(): Promise<void> {
      logger.info('worker announces itself', { worker: workerNumber, slots });
      task.start();
    },
    /** Resolves within a second, also without Postgres: a row left in `workers` counts for 3 s only. */
    async stop(): Promise<void> {
      const signedOff = task
        .stop()
        .then(() => fleet.leave(workerNumber))
        .catch((error: unknown) => logger.debug('worker not signed off', { error }));
      await settlesWithin(LEAVE_TIMEOUT_MS, signedOff);
    },
  };
}
