import { randomUUID } from 'node:crypto';
import type { Logger } from '@postrider/runtime';
import { within } from '@postrider/runtime';
import type { Fleet } from '@postrider/store';

export interface AnnouncementsParts {
  readonly fleet: Pick<Fleet, 'announce' | 'leave'>;
  /** Attempts that this worker can have in flight at once, in all its lanes. */
  readonly slots: number;
  readonly logger: Pick<Logger, 'debug'>;
}

/** Relays count a worker for 3 s after they heard of it. */
const EVERY_MS = 1_000;
const LEAVE_TIMEOUT_MS = 1_000;

/** Says every second that this worker runs: relays bound what one account has in flight by the slots of all workers. */
export function createAnnouncements({ fleet, slots, logger }: AnnouncementsParts) {
  const workerId = randomUUID();
  let timer: NodeJS.Timeout | null = null;
  let announcing: Promise<void> | null = null;

  /** Never two at a time: while Postgres is away they would pile up. */
  function announce(): void {
    announcing ??= fleet
      .announce(workerId, slots)
      .catch((error: unknown) => logger.debug('worker not announced', { error }))
      .finally(() => (announcing = null));
  }

  return {
    async start(): Promise<void> {
      announce();
      timer = setInterval(announce, EVERY_MS);
    },
    /** Resolves within a second, also while Postgres is away: a row that stays counts for 3 s. */
    async stop(): Promise<void> {
      if (timer !== null) clearInterval(timer);
      const leave = async () => {
        await announcing;
        await fleet.leave(workerId);
      };
      await within(
        () => leave().catch((error: unknown) => logger.debug('worker not signed off', { error })),
        LEAVE_TIMEOUT_MS,
        () => undefined,
      );
    },
  };
}
