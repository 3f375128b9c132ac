import { usableCores } from '@postrider/testing';

/**
 * @returns a function that gives the busy share of this run's cores since this call, 0 to 1, by any process
 */
export function watchCores(): () => number {
  const before = coreTimes();
  return () => {
    const after = coreTimes();
    return (after.busy - before.busy) / (after.total - before.total);
  };
}

function coreTimes(): { busy: number; total: number } {
  let busy = 0;
  let total = 0;
  for (const { times } of usableCores()) {
    const all = times.user + times.nice + times.sys + times.irq + times.idle;
    busy += all - times.idle;
    total += all;
  }
  return { busy, total };
}
