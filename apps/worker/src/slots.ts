/**
 * Does work in a slot of its own, and settles as the work does.
 *
 * @param unbegun done instead if the stop comes before the work begins; it needs no slot
 */
export type InSlot = <T>(work: () => Promise<T>, unbegun: () => Promise<T>) => Promise<T>;

/**
 * @param count how much work at a time; what comes beyond waits for a slot, first come, first served
 * @param stopped from then on nothing begins
 */
export function createSlots(count: number, stopped: AbortSignal): InSlot {
  let free = count;
  const waiting: (() => void)[] = [];
  stopped.addEventListener('abort', () => waiting.splice(0).forEach((go) => go()), { once: true });
  return async (work, unbegun) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    if (stopped.aborted) return unbegun();
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}
