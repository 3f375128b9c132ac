import type { AccountId } from '@postrider/domain';
import type { CallerCommands } from '../roles/caller.ts';
import type { ReceiverCommands } from '../roles/receiver.ts';
import type { RoleProcess } from '../roles/role-process.ts';

const ARRIVAL_TIMEOUT_MS = 60_000;

export interface SteadyLoad {
  readonly receiver: RoleProcess<ReceiverCommands>;
  readonly caller: RoleProcess<CallerCommands>;
  readonly accountId: AccountId;
  readonly perSecond: number;
  readonly seconds: number;
}

/** Milliseconds that events took, one for each. */
export interface ArrivalTimes {
  /** From the commit, as the caller knows of it, to the arrival of the whole body. */
  readonly sinceCommit: readonly number[];
  /** From the moment the caller began the transaction. */
  readonly sinceCall: readonly number[];
}

/**
 * Records events at a steady rate, a transaction each, and waits for all of them.
 * @throws Error when one of them does not arrive
 */
export async function measureArrivals(load: SteadyLoad): Promise<ArrivalTimes> {
  const { receiver, caller, ...rate } = load;
  await receiver.call('reset', null);
  const recorded = await caller.call('record', rate);
  await receiver.call('arrived', { ids: recorded.map(([id]) => id), withinMs: ARRIVAL_TIMEOUT_MS });
  const arrivals = new Map(await receiver.call('arrivals', null));
  const took = (id: string, sinceMs: number): number => {
    const arrivedAtMs = arrivals.get(id);
    if (arrivedAtMs === undefined) throw new Error(`${id} was recorded and has not arrived`);
    // It may arrive before the caller has read the answer to its COMMIT: that is 0, not less.
    return Math.max(0, arrivedAtMs - sinceMs);
  };
  return {
    sinceCommit: recorded.map(([id, , committedAtMs]) => took(id, committedAtMs)),
    sinceCall: recorded.map(([id, begunAtMs]) => took(id, begunAtMs)),
  };
}
