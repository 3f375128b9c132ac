import { SweptBlobsError } from '@postrider/store';
import type { ReceivedMessageStore } from '@postrider/store';

/** After the first put, a try fails only when another sweep removed the bytes moments later. */
const TRIES_MAX = 3;

/**
 * Runs `receive`. If the blob sweep removed blobs that the message names, puts their bytes again and retries.
 *
 * @param putAgain puts all bytes of the message
 * @throws SweptBlobsError when the sweep is not over: it may still remove blobs that the message names. The
 * sender must send the message again later.
 */
export async function withSweptRestored<T>(
  store: Pick<ReceivedMessageStore, 'forgetSwept'>,
  putAgain: () => Promise<unknown>,
  receive: () => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await receive();
    } catch (error) {
      if (!(error instanceof SweptBlobsError) || !error.isOver || tries === TRIES_MAX) throw error;
      await putAgain();
      await store.forgetSwept(error.blobs); // after the put: from now on, other messages may name these blobs
    }
  }
}
