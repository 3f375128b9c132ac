/** Work starts 25 % faster than slots free up, so no slot stays idle. */
const HEADROOM = 1.25;
/** Weight of the last work in the mean duration. */
const WEIGHT = 1 / 8;

/**
 * Starts work no faster than slots free up, by the mean duration of recent work. Otherwise attempts that
 * timed out together would start together again, each with a TLS handshake. Quick work does not wait.
 */
export class StartPacing {
  readonly #slots: number;
  #meanMs = 0;
  #nextMs = 0;

  /** @param slots how much work may run at once. */
  constructor(slots: number) {
    this.#slots = slots;
  }

  /** Runs the work when its time has come, and settles as the work does. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const nowMs = performance.now();
    const startMs = Math.max(nowMs, this.#nextMs);
    this.#nextMs = startMs + this.#meanMs / (this.#slots * HEADROOM);
    if (startMs - nowMs >= 1) await new Promise((resolve) => setTimeout(resolve, startMs - nowMs));
    const begunMs = performance.now();
    try {
      return await work();
    } finally {
      this.#meanMs += (performance.now() - begunMs - this.#meanMs) * WEIGHT;
    }
  }
}
