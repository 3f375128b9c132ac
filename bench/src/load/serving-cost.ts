import { monotonicMs } from '../monotonic.ts';
import { watchCpu } from './cpu-watch.ts';

/** What one request costs the process that serves it. */
export interface ServingCost {
  readonly cpuMs: number;
  readonly perSecond: number;
}

/** @param work makes `count` requests of the process. */
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
