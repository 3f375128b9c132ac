import { within } from '@postrider/limits';

/**
 * Lets long work go on without holding a slot of its queue: after a while an attempt is parked, and the slot serves another
 * one. The slots bound what the processor has to do; an attempt that waits for its answer costs a socket.
 */
export interface Parking {
  /** Resolves when `work` has ended, or earlier when it was parked. `work` never rejects. */
  untilEndedOrParked(work: Promise<void>): Promise<void>;
  /** Resolves when all parked work has ended, or the time is over. */
  drain(deadlineMs: number): Promise<void>;
}

/** @param placesMax parked at once; with all places taken, work holds its slot until one is free. */
export function createParking(options: { readonly afterMs: number; readonly parkedMax: number }): Parking {
  const parked = new Set<Promise<void>>();
  /** Long work that waits for a place, the longest first, each with what frees its slot. */
  const overdue = new Map<Promise<void>, () => void>();

  function park(work: Promise<void>, freeSlot: () => void): void {
    if (parked.size >= options.parkedMax) {
      overdue.set(work, freeSlot);
      return;
    }
    parked.add(work);
    freeSlot();
  }

  function ended(work: Promise<void>): void {
    overdue.delete(work);
    if (!parked.delete(work)) return;
    const next = overdue.entries().next();
    if (next.done === true) return;
    const [waiting, freeSlot] = next.value;
    overdue.delete(waiting);
    park(waiting, freeSlot);
  }

  return {
    untilEndedOrParked(work) {
      return new Promise<void>((resolve) => {
        let hasEnded = false;
        const parkUnlessEnded = () => {
          if (!hasEnded) park(work, resolve);
        };
        // On a busy event loop the timer fires before Node reads the sockets, and an answer may be there: it is read first.
        const timer = setTimeout(() => setImmediate(parkUnlessEnded), options.afterMs);
        void work.then(() => {
          hasEnded = true;
          clearTimeout(timer);
          ended(work);
          resolve();
        });
      });
    },
    async drain(deadlineMs) {
      await within<unknown>(
        () => Promise.all(parked),
        deadlineMs,
        () => undefined,
      );
    },
  };
}
