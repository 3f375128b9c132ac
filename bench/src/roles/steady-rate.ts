import { monotonicMs } from '../monotonic.ts';

/**
 * Starts work at a steady rate, even while earlier work still runs. This is an open loop: a slow answer does
 * not reduce the load.
 *
 * @param work gets the time at which it should start, on the monotonic clock. A busy machine may start it
 *   later.
 * @returns the results in the order of their start
 * @throws the first error, once all have ended
 */
export async function atSteadyRate<T>(
  { perSecond, seconds }: { readonly perSecond: number; readonly seconds: number },
  work: (index: number, dueAtMs: number) => Promise<T>,
): Promise<T[]> {
  const begun = monotonicMs();
  const inFlight: Promise<PromiseSettledResult<T>>[] = [];
  for (let index = 0; index < perSecond * seconds; index += 1) {
    const dueAtMs = begun + (index * 1000) / perSecond;
    const dueInMs = dueAtMs - monotonicMs();
    if (dueInMs > 0) await new Promise((resolve) => setTimeout(resolve, dueInMs));
    inFlight.push(settled(work(index, dueAtMs)));
  }
  return (await Promise.all(inFlight)).map((outcome) => {
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  });
}

async function settled<T>(work: Promise<T>): Promise<PromiseSettledResult<T>> {
  const [outcome] = await Promise.allSettled([work]);
  return outcome;
}
