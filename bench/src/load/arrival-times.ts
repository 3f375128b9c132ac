import type { AccountId } from '@postrider/domain';
import { latenessMs, measureLoads } from './steady-load.ts';
import type { Ends } from './steady-load.ts';

/** The load of one account with one endpoint. */
export interface AccountLoad extends Ends {
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
export async function measureArrivals(load: AccountLoad): Promise<ArrivalTimes> {
  const { accountId, perSecond, seconds, ...ends } = load;
  const [arrivals = []] = await measureLoads(ends, [{ accountIds: [accountId], perSecond, seconds }]);
  return {
    sinceCommit: arrivals.map(latenessMs),
    sinceCall: arrivals.map(({ begunAtMs, arrivedAtMs }) => arrivedAtMs - begunAtMs),
  };
}
