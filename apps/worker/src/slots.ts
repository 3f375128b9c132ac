/** Does work in a slot of its own. Settles as the work does. */
export type InSlot = <T>(work: () => Promise<T>) => Promise<T>;

/** @param count how much work at a time; what comes beyond waits for a slot, first come, first served */
export function createSlots(count: number): InSlot {
  let free = count;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}
