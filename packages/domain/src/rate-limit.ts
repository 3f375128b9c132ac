/** The window of the per-key limit, in milliseconds (contract 8). */
export const RATE_WINDOW_MS = 60_000;

export type RateDecision =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly why: 'limit' | 'limiter-unavailable' };

/**
 * Counts requests per API key in a fixed window. An idle key's first charge starts the window.
 *
 * The first charge of a window is always allowed. A first charge above the limit makes the window longer.
 * Every later charge must fit into the rest of the limit. Otherwise it is refused and consumes nothing.
 */
export interface RateLimiter {
  /**
   * @param cost whole number, 1 or more.
   * @param limitPerMinute the key's own limit.
   * @returns `{ allowed: false, why: 'limiter-unavailable' }` when the store is unavailable. It does not
   *   throw then.
   */
  charge(key: string, cost: number, limitPerMinute: number): Promise<RateDecision>;
  /**
   * Allowed when a charge of 1 would be allowed. It consumes nothing and starts no window. It answers as
   * `charge` does when the store is unavailable.
   */
  peek(key: string, limitPerMinute: number): Promise<RateDecision>;
}

/**
 * The length in milliseconds of a window that starts with a charge of `cost`. It is longer than `baseMs` only
 * when the cost exceeds the limit.
 *
 * @param baseMs the length of an ordinary window. Only tests change it.
 */
export function windowMs(cost: number, limitPerMinute: number, baseMs = RATE_WINDOW_MS): number {
  return Math.max(baseMs, Math.ceil((baseMs * cost) / limitPerMinute));
}
