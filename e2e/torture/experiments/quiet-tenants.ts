import { setTimeout as delay } from 'node:timers/promises';
import type { Endpoint } from '../harness/world/endpoint.ts';
import type { Load } from '../harness/world/producer.ts';
import type { World } from '../harness/world/world.ts';
import { arrivalTimesMs } from './arrival-times.ts';

/** Accounts with a healthy endpoint and a small steady load each, beside an account in trouble. */
export interface QuietTenants {
  /** Waits until all their events that are committed by now have arrived. @returns the number of events */
  servedSoFar(): Promise<number>;
  /** Milliseconds from commit to arrival, of the events that were committed since the last call. */
  timesSinceLast(): number[];
  stop(): Promise<void>;
}

/** Starts `count` tenants, each with `perSecond` events a second. */
export async function startQuietTenants(
  world: World,
  { count, perSecond }: { readonly count: number; readonly perSecond: number },
): Promise<QuietTenants> {
  const endpoints: Endpoint[] = [];
  for (let made = 0; made < count; made += 1) {
    endpoints.push(await world.endpoint({ accountId: await world.newAccount() }));
  }
  const accountIds = endpoints.map(({ accountId }) => accountId);
  const loads: Load[] = [];
  for (const accountId of accountIds) {
    loads.push(world.producer.load({ perSecond, accountId }));
    await delay(1_000 / (perSecond * count)); // not all in the same millisecond
  }
  const arrived = (): number => endpoints.reduce((sum, { receipts }) => sum + receipts.length, 0);
  let from = world.producer.log.length;
  return {
    async servedSoFar() {
      const committed = await world.count('events where account_id = any ($1)', [accountIds]);
      await world.until('what healthy tenants committed to arrive', () => arrived() >= committed);
      return committed;
    },
    timesSinceLast() {
      const causes = world.producer.log.slice(from);
      from = world.producer.log.length;
      // Events of other accounts have no arrival here, so they do not count.
      return arrivalTimesMs(
        causes,
        endpoints.flatMap(({ receipts }) => receipts),
      );
    },
    async stop() {
      await Promise.all(loads.map((load) => load.stop()));
    },
  };
}
