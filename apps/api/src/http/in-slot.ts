import type { KeyedQueue } from '@postrider/limits';
import type { RouteRequest } from '../routes/route.ts';
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
