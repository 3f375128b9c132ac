/** The known state of a key's open window. */
interface SpentWindow {
  /** The cost of all charges in the window is at least this. Other processes charge the same window. */
  readonly used: number;
  /** Milliseconds of the monotonic clock. */
  readonly endsAt: number;
}

/** Each entry takes about 200 bytes. */
const WINDOWS_MAX = 10_000;

/**
 * The last known windows. The use of an open window never falls. So a charge that did not fit cannot fit
 * before the window ends, and the store need not be asked.
 */
export class SpentWindows {
  readonly #now: () => number;
  readonly #windows = new Map<string, SpentWindow>();

  /** @param now milliseconds of a monotonic clock. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** True when a charge of `cost` is certain to be refused. */
  refuses(key: string, cost: number, limit: number): boolean {
    // The first charge of a window may exceed the whole limit.
    return this.#used(key) > 0 && this.#used(key) + cost > limit;
  }

  /** An upper bound of the remaining limit. The whole limit when nothing is known. */
  left(key: string, limit: number): number {
    return limit - this.#used(key);
  }

  /** @param window its `endsAt` is not after the window's true end. */
  add(key: string, window: SpentWindow): void {
    this.#windows.delete(key);
    this.#windows.set(key, window);
    const [oldest] = this.#windows.keys();
    if (this.#windows.size > WINDOWS_MAX && oldest !== undefined) this.#windows.delete(oldest);
  }

  /** A lower bound of the use; 0 when no open window is known. */
  #used(key: string): number {
    const window = this.#windows.get(key);
    if (window === undefined || window.endsAt > this.#now()) return window?.used ?? 0;
    this.#windows.delete(key);
    return 0;
  }
}
