import { noSlotInTime } from '../problems/answers.ts';
import type { RouteRequest } from '../routes/route.ts';
import type { AccountSlots } from './account-slots.ts';
import type { Answer } from './answer.ts';

/** Limits of one kind of costly work in a process: one piece in flight for each account, and two in all. */
export const COSTLY = { inFlightMax: 1, waitingMax: 256, waitMs: 30_000, totalInFlightMax: 2 };

/**
 * Runs the work in a slot of the request's account, if one is free in time. Before the work, it checks the
 * key again.
 */
export async function inSlot(
  slots: Pick<AccountSlots, 'run'>,
  { key, recheckKey, client }: Pick<RouteRequest, 'key' | 'recheckKey' | 'client'>,
  work: () => Promise<Answer>,
): Promise<Answer> {
  const afterCheck = async (): Promise<Answer> => (await recheckKey()) ?? work();
  return (await slots.run(key.accountId, afterCheck, client)) ?? noSlotInTime;
}
