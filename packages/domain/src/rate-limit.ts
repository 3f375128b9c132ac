/** The window of the per-key limit, in milliseconds (contract 8). */
export const RATE_WINDOW_MS = 60_000;

export const CONTRACT_REQUESTS_PER_MINUTE = 60;

export type RateDecision =
  { readonly allowed: true } | { readonly allowed: false; readonly why: 'limit' | 'limiter-unavailable' };

/**
 * Counts requests per API key in a fixed window that begins with an idle key's first charge.
 *
 * All or nothing: a cost that does not fit in what is left is refused and consumes nothing. On an untouched
 * window a cost may exceed the whole limit; the key is then shut until the cost has drained at the key's rate.
 */
export interface RateLimiter {
  /**
   * @param cost whole number, 1 or more.
   * @param limitPerMinute the key's own limit.
   * @throws never for a store that is away: that is `{ allowed: false, why: 'limiter-unavailable' }`.
   */
  charge(key: string, cost: number, limitPerMinute: number): Promise<RateDecision>;
  /**
   * Whether the key's window has anything left, so that a charge of 1 would be allowed. Consumes nothing, and begins
   * no window.
   *
   * @throws never, as `charge`.
   */
  peek(key: string, limitPerMinute: number): Promise<RateDecision>;
}

/**
 * How long a window lasts that begins with a charge of `cost`: longer only where the cost exceeds the limit.
 *
 * @param baseMs the ordinary window's length; the contract's but in tests.
 */
export function windowMs(cost: number, limitPerMinute: number, baseMs = RATE_WINDOW_MS): number {
  return Math.max(baseMs, Math.ceil((baseMs * cost) / limitPerMinute));
}
