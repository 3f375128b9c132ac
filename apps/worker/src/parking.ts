import { within } from '@postrider/limits';

/**
 * Lets a long attempt continue without a slot: after a while the attempt is parked and its slot serves
 * another one. Slots limit the work of the processor; an attempt that waits for an answer costs only a
 * socket.
 */
export interface Parking {
  /** Resolves when `work` has ended or was parked. `work` never rejects. */
  untilEndedOrParked(work: Promise<void>): Promise<void>;
  /** Resolves when all parked work has ended, or after the deadline. */
  drain(deadlineMs: number): Promise<void>;
}

/**
 * @param parkedMax Attempts parked at once. Beyond that, an attempt keeps its slot until a parked one ends.
 */
export function createParking(options: { readonly afterMs: number; readonly parkedMax: number }): Parking {
  const parked = new Set<Promise<void>>();
  /** Long work that cannot be parked yet, oldest first, with the function that frees its slot. */
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
        // On a busy event loop the timer fires before Node reads the sockets. The answer may be there, so
        // Node reads it first.
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
