/** What is known of one key's open window. */
interface SpentWindow {
  /** At the least. */
  readonly used: number;
  /** Milliseconds of the monotonic clock. */
  readonly endsAt: number;
}

/** Each takes about 200 bytes. */
const WINDOWS_MAX = 10_000;

/**
 * The windows that have refused a charge. Use only grows while a window is open, so a charge that did not fit then
 * does not fit until it ends, and the store need not be asked again.
 */
export interface SpentWindows {
  /** Whether a charge of `cost` is refused for certain. */
  refuses(key: string, cost: number, limit: number): boolean;
  /** @param endsAt no later than the window's end, by `now`. */
  add(key: string, window: SpentWindow): void;
}

/** @param now milliseconds of a monotonic clock. */
export function createSpentWindows(now: () => number): SpentWindows {
  const windows = new Map<string, SpentWindow>();
  return {
    refuses(key, cost, limit) {
      const window = windows.get(key);
      if (window === undefined) return false;
      if (window.endsAt <= now()) windows.delete(key);
      return window.endsAt > now() && window.used + cost > limit;
    },
    add(key, window) {
      windows.delete(key);
      windows.set(key, window);
      const [oldest] = windows.keys();
      if (windows.size > WINDOWS_MAX && oldest !== undefined) windows.delete(oldest);
    },
  };
}
