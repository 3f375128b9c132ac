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
 * The windows as they were last seen. Use only grows while a window is open, so a charge that did not fit then does
 * not fit until it ends, and the store need not be asked.
 */
export interface SpentWindows {
  /** Whether a charge of `cost` is refused for certain. */
  refuses(key: string, cost: number, limit: number): boolean;
  /** What can still fit at the most; the whole limit where nothing is known. */
  left(key: string, limit: number): number;
  /** @param endsAt no later than the window's end, by `now`. */
  add(key: string, window: SpentWindow): void;
}

/** @param now milliseconds of a monotonic clock. */
export function createSpentWindows(now: () => number): SpentWindows {
  const windows = new Map<string, SpentWindow>();
  /** At the least. */
  const usedOf = (key: string): number => {
    const window = windows.get(key);
    if (window === undefined || window.endsAt > now()) return window?.used ?? 0;
    windows.delete(key);
    return 0;
  };
  return {
    // Where nothing is used for certain, a cost may exceed the whole limit.
    refuses: (key, cost, limit) => usedOf(key) > 0 && usedOf(key) + cost > limit,
    left: (key, limit) => limit - usedOf(key),
    add(key, window) {
      windows.delete(key);
      windows.set(key, window);
      const [oldest] = windows.keys();
      if (windows.size > WINDOWS_MAX && oldest !== undefined) windows.delete(oldest);
    },
  };
}
