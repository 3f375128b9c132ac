import { KeyedQueue } from '@postrider/limits';
import type { RouteRequest } from '../routes/route.ts';
import type { AccountSlots } from './account-slots.ts';
import type { Answer } from './answer.ts';

/** Limits costly work, by account. By default an account has one piece in flight, and all accounts two. */
export function createAccountQueue({ perAccount, total } = { perAccount: 1, total: 2 }): KeyedQueue {
  return new KeyedQueue({ perKey: perAccount, total });
}

/**
 * Runs the work in a slot of the request's account, however long the wait. After a wait it first checks the
 * key again.
 */
export async function inSlot(
  queue: Pick<KeyedQueue, 'join'>,
  { key, recheckKey }: Pick<RouteRequest, 'key' | 'recheckKey'>,
  work: () => Promise<Answer>,
): Promise<Answer> {
  const slot = queue.join(key.accountId, 1);
  try {
    if (slot.granted !== null) {
      await slot.granted;
      const refusal = await recheckKey();
      if (refusal !== null) return refusal;
    }
    return await work();
  } finally {
    slot.release();
  }
}

/**
 * Runs the work in a slot of the request's account, if one is free in time. It always checks the key first,
 * because `slots` do not tell whether there was a wait.
 *
 * @param refusal the answer when no slot was free in time.
 */
export async function inSlotOrRefuse(
  slots: Pick<AccountSlots, 'run'>,
  { key, recheckKey, client }: Pick<RouteRequest, 'key' | 'recheckKey' | 'client'>,
  refusal: Answer,
  work: () => Promise<Answer>,
): Promise<Answer> {
  const afterCheck = async (): Promise<Answer> => (await recheckKey()) ?? work();
  return (await slots.run(key.accountId, afterCheck, client)) ?? refusal;
}
