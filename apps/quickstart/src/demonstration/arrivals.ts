import type { Arrival } from './receiver.ts';

/** Keeps recent events, so that a caller may wait for an event before or after it arrives. */
export interface Arrivals {
  add(arrival: Arrival): void;
  /** Resolves to the first matching event, or to null after `timeoutMs`. */
  find(fits: (arrival: Arrival) => boolean, timeoutMs: number): Promise<Arrival | null>;
}

const REMEMBERED = 100;

export function createArrivals(): Arrivals {
  const latest: Arrival[] = [];
  const waiting = new Set<(arrival: Arrival) => void>();
  return {
    add(arrival) {
      latest.push(arrival);
      if (latest.length > REMEMBERED) latest.shift();
      for (const offer of waiting) offer(arrival);
    },
    async find(fits, timeoutMs) {
      const there = latest.find(fits);
      if (there !== undefined) return there;
      return new Promise((resolve) => {
        const settle = (arrival: Arrival | null) => {
          clearTimeout(timer);
          waiting.delete(offer);
          resolve(arrival);
        };
        const offer = (arrival: Arrival) => {
          if (fits(arrival)) settle(arrival);
        };
        const timer = setTimeout(() => settle(null), timeoutMs);
        waiting.add(offer);
      });
    },
  };
}
