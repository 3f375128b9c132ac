import { answer, takingMs } from '@postrider/testing';
import type { ProcessName, Reaction } from '@postrider/testing';
import type { Load } from '../harness/world/producer.ts';
import type { ServerProxy, World } from '../harness/world/world.ts';

/** The settings of the load. All have a default. */
export interface LoadWish {
  /** The endpoint's reaction. Default: 200 after 20 ms, so that some attempts are always in flight. */
  readonly reaction?: Reaction;
  /** Causes per second. Default: 50. */
  readonly perSecond?: number;
  /** The processes, one of each. Default: relay and worker. */
  readonly processes?: readonly ProcessName[];
  /** The proxies between a process and its servers. Default: none. */
  readonly through?: Partial<Record<ProcessName, readonly ServerProxy[]>>;
}

const ARRIVALS = 10;

/**
 * Starts an endpoint, processes, and a steady load of causes. Resolves when the first events have arrived.
 *
 * @returns the load, which the caller must stop
 */
export async function underLoad(
  world: World,
  {
    reaction = takingMs(20, answer(200)),
    perSecond = 50,
    processes = ['relay', 'worker'],
    through = {},
  }: LoadWish = {},
): Promise<Load> {
  const endpoint = await world.endpoint({ reaction });
  for (const name of processes) await world.start(name, { through: through[name] ?? [] });
  const load = world.producer.load({ perSecond });
  await endpoint.arrived(ARRIVALS);
  return load;
}
