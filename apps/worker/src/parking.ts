/**
 * Lets long work go on without holding a slot of its queue: after a second an attempt is parked, and the slot serves
 * somebody else. A hanging endpoint so costs the fast lane one slot-second an attempt, not ten.
 */
export interface Parking {
  /** Resolves when `work` has ended, or earlier when it was parked. `work` never rejects. */
  slotFor(work: Promise<void>): Promise<void>;
  /** Resolves when all parked work has ended, or the time is over. */
  drain(deadlineMs: number): Promise<void>;
}

/** @param placesMax parked at once; with all places taken, work holds its slot to the end. */
export function createParking(options: { readonly afterMs: number; readonly placesMax: number }): Parking {
  const parked = new Set<Promise<void>>();

  return {
    slotFor(work) {
      return new Promise<void>((resolve) => {
        const timer = setTimeout(() => {
          if (parked.size >= options.placesMax) return;
          parked.add(work);
          void work.then(() => parked.delete(work));
          resolve();
        }, options.afterMs);
        void work.then(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    },
    async drain(deadlineMs) {
      let timer: NodeJS.Timeout | undefined;
      const deadline = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, deadlineMs);
      });
      await Promise.race([Promise.all(parked), deadline]);
      clearTimeout(timer);
    },
  };
}
