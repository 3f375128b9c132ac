import { measureRounds } from '../figure.ts';
import type { Fixture } from '../figure.ts';
import type { Installation } from '../fixture/installation.ts';
import { readCounts, totalCalls } from '../fixture/cluster.ts';
import { servingCost } from './serving-cost.ts';
import type { ServingCost } from './serving-cost.ts';

export interface ServingRound {
  readonly yardstick: ServingCost;
  readonly ours: ServingCost;
  /** Counted statements of the product per request. */
  readonly calls: number;
}

export interface Serving {
  readonly installation: Installation;
  readonly yardstick: { readonly port: number; readonly pid: number };
  readonly ours: { readonly port: number; readonly pid: number };
  /** Requests per round. */
  readonly count: number;
  /** Makes the requests. */
  readonly request: (port: number) => Promise<void>;
  /** A SQL condition on the statements that `readCounts` reads. Default: all. */
  readonly counted?: string;
  /** The word for a request in progress lines. */
  readonly noun: string;
}

/** The cost of a request to our API and to bare Express, in turn, after the warm-up of each. */
export async function servingRounds(fixture: Fixture, serving: Serving): Promise<ServingRound[]> {
  const { installation, yardstick, ours, count, request, counted, noun } = serving;
  const { database } = installation;
  const load = ({ port, pid }: Serving['ours']): Promise<ServingCost> =>
    servingCost(pid, count, () => request(port));
  for (let made = 0; made < fixture.sizes.warmUp; made += count) {
    await load(yardstick);
    await load(ours);
  }

  const oneRound = async (): Promise<ServingRound> => {
    const bare = await load(yardstick);
    await database.query('select pg_stat_statements_reset()');
    const own = await load(ours);
    return { yardstick: bare, ours: own, calls: totalCalls(await readCounts(database, counted)) / count };
  };
  return measureRounds(
    fixture,
    oneRound,
    (round) =>
      `${round.ours.cpuMs.toFixed(2)} ms of CPU a ${noun}, ${round.yardstick.cpuMs.toFixed(2)} ms bare`,
  );
}
