import type { AccountId } from '@postrider/domain';
import type { Ends } from './steady-load.ts';

const ARRIVAL_TIMEOUT_MS = 120_000;

export interface CapacityWish {
  /** Each account has one endpoint that answers at once. */
  readonly accountIds: readonly AccountId[];
  readonly count: number;
  /** Concurrent transactions. */
  readonly concurrency: number;
}

/**
 * Records events as fast as possible, one transaction per event, while they are delivered.
 * @returns events per second from the first transaction to the last arrival: the largest steady load
 */
export async function measureCapacity({ receiver, caller }: Ends, wish: CapacityWish): Promise<number> {
  await receiver.call('reset', null);
  const recorded = await caller.call('flood', wish);
  const begunAtMs = Math.min(...recorded.map(([, begun]) => begun));
  const endedAtMs = await receiver.call('reached', { count: wish.count, withinMs: ARRIVAL_TIMEOUT_MS });
  return (wish.count * 1000) / (endedAtMs - begunAtMs);
}
