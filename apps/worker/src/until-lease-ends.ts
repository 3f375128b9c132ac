import { StoreUnavailableError } from '@postrider/store';

const FIRST_PAUSE_MS = 50;
const PAUSE_MS_MAX = 2_000;

/**
 * Retries while Postgres is unavailable, until the lease ends. After that another worker may take the row.
 *
 * @throws the last StoreUnavailableError when the lease has ended; any other error at once.
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
