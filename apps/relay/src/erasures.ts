import type { Logger } from '@postrider/runtime';
import type { ErasureStore } from '@postrider/store';

const LOOK_EVERY_MS = 15_000;

/** Continues erasures that wait for deliveries or mail to end. @returns the pause before the next run. */
export async function erasuresPass(erasures: Pick<ErasureStore, 'resume'>, logger: Logger): Promise<number> {
  for (const { accountId, requestedAt, erased, pending, pendingIds, finished } of await erasures.resume()) {
    // The log must not contain the address, because the erasure is meant to forget it.
    const names = { account_id: accountId, requested_at: requestedAt, erased };
    if (finished) logger.info('person erased', names);
    else logger.info('erasure waits', { ...names, pending, pending_ids: pendingIds });
  }
  return LOOK_EVERY_MS;
}
