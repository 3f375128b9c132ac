import { monotonicMs } from '../monotonic.ts';

/**
 * Begins a piece of work at every beat of a steady rate, whether the ones before have ended or not: an open loop, so
 * that a slow answer does not thin out the load.
 *
 * @returns the results in the order of their beginning
 * @throws the first error of any of them, once all have ended
 */
export async function atSteadyRate<T>(
  { perSecond, seconds }: { readonly perSecond: number; readonly seconds: number },
  work: (index: number) => Promise<T>,
): Promise<T[]> {
  const begun = monotonicMs();
  const underWay: Promise<PromiseSettledResult<T>>[] = [];
  for (let index = 0; index < perSecond * seconds; index += 1) {
    const dueInMs = begun + (index * 1000) / perSecond - monotonicMs();
    if (dueInMs > 0) await new Promise((resolve) => setTimeout(resolve, dueInMs));
    underWay.push(settled(work(index)));
  }
  return (await Promise.all(underWay)).map((outcome) => {
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  });
}

async function settled<T>(work: Promise<T>): Promise<PromiseSettledResult<T>> {
  const [outcome] = await Promise.allSettled([work]);
  return outcome;
}
