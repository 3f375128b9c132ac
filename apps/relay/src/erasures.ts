import type { Logger } from '@postrider/runtime';
import type { ErasureStore } from '@postrider/store';

const LOOK_EVERY_MS = 15_000;

/** Goes on with the erasures that wait for deliveries, mail or transactions to end. @returns the pause before the next turn. */
export async function erasuresTurn(erasures: Pick<ErasureStore, 'resume'>, logger: Logger): Promise<number> {
  for (const { accountId, erased, pending, finished } of await erasures.resume()) {
    // Without the address, which is to be forgotten.
    if (finished) logger.info('person erased', { account_id: accountId, erased });
    else logger.debug('erasure waits', { account_id: accountId, erased, pending });
  }
  return LOOK_EVERY_MS;
}
