import type { AccountId } from '@postrider/domain';
import { latenessMs, measureLoads } from './steady-load.ts';
import type { Ends } from './steady-load.ts';

/** The load of one account with one endpoint. */
export interface AccountLoad extends Ends {
  readonly accountId: AccountId;
  readonly perSecond: number;
  readonly seconds: number;
}

/** Milliseconds per event. */
export interface ArrivalTimes {
  /** From the caller's commit to the arrival of the whole body. */
  readonly sinceCommit: readonly number[];
  /** From the start of the caller's transaction. */
  readonly sinceCall: readonly number[];
}

/**
 * Records events at a steady rate, one transaction per event, and waits until all have arrived.
 * @throws Error when an event does not arrive
 */
export async function measureArrivals(load: AccountLoad): Promise<ArrivalTimes> {
  const { accountId, perSecond, seconds, ...ends } = load;
  const [arrivals = []] = await measureLoads(ends, [{ accountIds: [accountId], perSecond, seconds }]);
  return {
    sinceCommit: arrivals.map(latenessMs),
    sinceCall: arrivals.map(({ begunAtMs, arrivedAtMs }) => arrivedAtMs - begunAtMs),
  };
}
