import { SweptBlobsError } from '@postrider/store';
import type { ReceivedMessageStore } from '@postrider/store';

/** Each further time means that another sweep took the bytes, moments after they were put. */
const TRIES_MAX = 3;

/**
 * Runs `receive`. Where the sweep took blobs that the message names, their bytes are put again, and it runs once more.
 *
 * @param putAgain puts all bytes of the message.
 * @throws SweptBlobsError when the sweep may still remove some: the message is to come again later
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
      await store.forgetSwept(error.blobs); // not before the bytes are there: others go by it
    }
  }
}
