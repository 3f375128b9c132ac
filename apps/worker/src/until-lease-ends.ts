import { StoreUnavailableError } from '@postrider/store';

const FIRST_PAUSE_MS = 50;
const PAUSE_MS_MAX = 2_000;

/**
 * Records an outcome, trying again while Postgres is away, until the lease that covers it has run out: from then on
 * the row is somebody else's.
 *
 * @throws the last StoreUnavailableError once the time is over; any other error at once.
 */
export async function untilLeaseEnds<T>(leaseEndsAtMs: number, record: () => Promise<T>): Promise<T> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX)) {
    try {
      return await record();
    } catch (error) {
      if (!(error instanceof StoreUnavailableError) || performance.now() + pauseMs >= leaseEndsAtMs)
        throw error;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}
