import { SweptBlobsError } from '@postrider/store';
import type { ReceivedMessageStore } from '@postrider/store';

/** A try fails only when another sweep removed the bytes moments after their put. */
const TRIES_MAX = 3;

/**
 * Runs `receive`. If the sweep removed blobs that the message names, it puts their bytes again and retries.
 *
 * @param putAgain puts all bytes of the message
 * @throws SweptBlobsError when the sweep may still remove some. The sender must send the message again later.
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
      await store.forgetSwept(error.blobs); // after the put: then another message may rely on them
    }
  }
}
