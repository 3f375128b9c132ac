import { StoreUnavailableError } from '@postrider/store';

const FIRST_PAUSE_MS = 50;
const PAUSE_MS_MAX = 2_000;

/**
 * Repeats `work` while Postgres is unavailable, or a lock is not free in time. It begins no try after the
 * deadline.
 *
 * @param deadlineAtMs on the monotonic clock. After the end of a lease, another worker may take the row.
 * @param mayRepeat says whether it repeats after this error. Default: after any StoreUnavailableError.
 * @throws the last StoreUnavailableError; any other error at once.
 */
export async function untilPostgresAnswers<T>(
  work: () => Promise<T>,
  deadlineAtMs = Infinity,
  mayRepeat: (error: unknown) => boolean = (error) => error instanceof StoreUnavailableError,
): Promise<T> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX)) {
    try {
      return await work();
    } catch (error) {
      if (!mayRepeat(error) || performance.now() + pauseMs >= deadlineAtMs) throw error;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}
