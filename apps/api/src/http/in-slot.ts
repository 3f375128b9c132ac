import type { KeyedQueue } from '@postrider/limits';
import type { RouteRequest } from '../routes/route.ts';
import type { AccountSlots } from './account-slots.ts';
import type { Answer } from './answer.ts';

/** Runs the work in a slot of the request's account. After a wait it first checks the key again. */
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

/** Does the same in slots with a limited wait. @param refusal the answer when none was free */
export async function inAccountSlot(
  slots: Pick<AccountSlots, 'run'>,
  { key, recheckKey, client }: Pick<RouteRequest, 'key' | 'recheckKey' | 'client'>,
  refusal: Answer,
  work: () => Promise<Answer>,
): Promise<Answer> {
  const afterCheck = async (): Promise<Answer> => (await recheckKey()) ?? work();
  return (await slots.run(key.accountId, afterCheck, client)) ?? refusal;
}
