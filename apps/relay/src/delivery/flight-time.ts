/** An endpoint is quick when its deliveries are in flight no longer than this on average. */
const QUICK_MS = 100;
/** `#inFlightMs` and `#ended` halve in this time. */
const HALF_LIFE_MS = 2_000;
/** A mean of fewer ended deliveries says little. */
const ENDED_MIN = 32;
/**
 * The shortest mean doubles in this time, so that an old one loses its effect. A 5 ms endpoint that turns
 * slow is quick for 17 s.
 */
const DOUBLES_AFTER_MS = 4_000;

/** How long a webhook's deliveries are in flight: deliveries in flight = deliveries a second × time. */
export class FlightTime {
  /** Deliveries in flight × milliseconds, and deliveries that ended. Both halve in `HALF_LIFE_MS`. */
  #inFlightMs = 0;
  #ended = 0;
  /** The shortest mean so far. A longer one may be due to a busy worker, not to the endpoint. */
  #shortestMs = Infinity;

  /**
   * @param seen `inFlight` deliveries at the start of `elapsedMs`, of which `ended` have ended. With more in
   * flight than `quickLimit`, deliveries of a quick webhook wait in the workers.
   */
  add(seen: { inFlight: number; ended: number; elapsedMs: number; quickLimit: number }): void {
    const { inFlight, ended, elapsedMs, quickLimit } = seen;
    const kept = 2 ** (-elapsedMs / HALF_LIFE_MS);
    this.#inFlightMs = this.#inFlightMs * kept + inFlight * elapsedMs;
    this.#ended = this.#ended * kept + ended;
    // Above `quickLimit` deliveries wait in the workers. Then a longer mean says nothing about the endpoint,
    // so the shortest one stays as it is.
    if (inFlight <= quickLimit) this.#shortestMs *= 2 ** (elapsedMs / DOUBLES_AFTER_MS);
    if (this.#ended >= ENDED_MIN)
      this.#shortestMs = Math.min(this.#shortestMs, this.meanMs(inFlight - ended));
  }

  /** Deliveries in flight count as if they ended now, because a hanging endpoint ends none. */
  meanMs(inFlight: number): number {
    return this.#inFlightMs / Math.max(1, this.#ended + inFlight);
  }

  isQuick(inFlight: number): boolean {
    return Math.min(this.#shortestMs, this.meanMs(inFlight)) <= QUICK_MS;
  }
}
