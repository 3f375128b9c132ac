import { answer, takingMs } from '@postrider/testing';
import type { ProcessName, Reaction } from '@postrider/testing';
import type { Load } from '../harness/world/producer.ts';
import type { ServerProxy, World } from '../harness/world/world.ts';

/** What may be otherwise than usual. */
export interface LoadWish {
  /** Of the endpoint: 200 after 20 ms, so that some attempts are always in flight. */
  readonly reaction?: Reaction;
  /** Causes: 50. */
  readonly perSecond?: number;
  /** Which processes run, one of each: relay and worker. */
  readonly processes?: readonly ProcessName[];
  /** The proxies that a process is behind: none. */
  readonly through?: Partial<Record<ProcessName, readonly ServerProxy[]>>;
}

const ARRIVALS = 10;

/**
 * A system at work, ready for harm: one endpoint, its processes, and a steady stream of causes whose first events have
 * arrived. @returns the stream, for whoever ends it.
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
