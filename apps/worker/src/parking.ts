import { settlesWithin } from '@postrider/limits';

export interface ParkingOptions {
  /** A younger attempt keeps its slot. */
  readonly afterMs: number;
  /** Attempts parked at once. Beyond that, an attempt keeps its slot until a parked one ends. */
  readonly parkedMax: number;
}

/**
 * Lets a long attempt continue without a slot: after a while the attempt is parked and its slot serves
 * another one. Slots limit the work of the processor; an attempt that waits for an answer costs only a
 * socket.
 */
export class Parking {
  readonly #options: ParkingOptions;
  readonly #parked = new Set<Promise<void>>();
  /** Long work that cannot be parked yet, oldest first, with the function that frees its slot. */
  readonly #overdue = new Map<Promise<void>, () => void>();

  constructor(options: ParkingOptions) {
    this.#options = options;
  }

  /** Resolves when `work` has ended or was parked. `work` never rejects. */
  untilEndedOrParked(work: Promise<void>): Promise<void> {
    return new Promise<void>((resolve) => {
      let hasEnded = false;
      const parkUnlessEnded = () => {
        if (!hasEnded) this.#park(work, resolve);
      };
      // On a busy event loop the timer fires before Node reads the sockets. The answer may be there, so
      // Node reads it first.
      const timer = setTimeout(() => setImmediate(parkUnlessEnded), this.#options.afterMs);
      void work.then(() => {
        hasEnded = true;
        clearTimeout(timer);
        this.#end(work);
        resolve();
      });
    });
  }

  /** Resolves when all parked work has ended, or after the deadline. */
  async drain(deadlineMs: number): Promise<void> {
    await settlesWithin(deadlineMs, Promise.all(this.#parked));
  }

  #park(work: Promise<void>, freeSlot: () => void): void {
    if (this.#parked.size >= this.#options.parkedMax) {
      this.#overdue.set(work, freeSlot);
      return;
    }
    this.#parked.add(work);
    freeSlot();
  }

  #end(work: Promise<void>): void {
    this.#overdue.delete(work);
    if (!this.#parked.delete(work)) return;
    const [next] = this.#overdue;
    if (next === undefined) return;
    const [waiting, freeSlot] = next;
    this.#overdue.delete(waiting);
    this.#park(waiting, freeSlot);
  }
}
