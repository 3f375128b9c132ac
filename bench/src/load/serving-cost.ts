import { monotonicMs } from '../monotonic.ts';
import { watchCpu } from './cpu-watch.ts';

/** The cost of one request for the process that serves it. */
export interface ServingCost {
  readonly cpuMs: number;
  readonly perSecond: number;
}

/** @param work makes `count` requests to the process. */
export async function servingCost(
  pid: number,
  count: number,
  work: () => Promise<void>,
): Promise<ServingCost> {
  const cpu = watchCpu([['served', { pid }]]);
  const begun = monotonicMs();
  await work();
  const seconds = (monotonicMs() - begun) / 1000;
  return { cpuMs: ((cpu()['served'] ?? Number.NaN) * 1000) / count, perSecond: count / seconds };
}
