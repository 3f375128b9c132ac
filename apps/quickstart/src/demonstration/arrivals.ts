import type { Arrival } from './receiver.ts';

const EVENTS_KEPT = 100;

/** Keeps recent events, so that a caller may wait for an event before or after it arrives. */
export class Arrivals {
  readonly #latest: Arrival[] = [];
  readonly #waiting = new Set<(arrival: Arrival) => void>();

  add(arrival: Arrival): void {
    this.#latest.push(arrival);
    if (this.#latest.length > EVENTS_KEPT) this.#latest.shift();
    for (const offer of this.#waiting) offer(arrival);
  }

  /** Resolves to the first matching event, or to null after `timeoutMs`. */
  async find(fits: (arrival: Arrival) => boolean, timeoutMs: number): Promise<Arrival | null> {
    const there = this.#latest.find(fits);
    if (there !== undefined) return there;
    const { promise, resolve } = Promise.withResolvers<Arrival | null>();
    const offer = (arrival: Arrival): void => {
      if (fits(arrival)) resolve(arrival);
    };
    this.#waiting.add(offer);
    const timer = setTimeout(() => resolve(null), timeoutMs);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(offer);
    }
  }
}
