import { RATE_WINDOW_MS, windowMs } from '@postrider/domain';
import type { RateLimiter } from '@postrider/domain';
import { CHARGE_STATEMENT } from './charge-statement.ts';
import { failClosed, LIMITER_TIMEOUT_MS } from './fail-closed.ts';
import type { FailClosedOptions } from './fail-closed.ts';

/** Runs one statement outside of any transaction, and answers with its rows. */
export type Query = (sql: string, params: readonly unknown[]) => Promise<readonly unknown[]>;

export interface PostgresRateLimiterOptions extends Partial<FailClosedOptions> {
  readonly query: Query;
  readonly onUnavailable: FailClosedOptions['onUnavailable'];
  /** Length of an ordinary window in milliseconds; the contract's when left out. */
  readonly windowLengthMs?: number;
}

/**
 * Keeps the limit in the unlogged table `rate_limits`, one row for each key that was ever charged. A crash of
 * Postgres empties the table: every window begins anew.
 */
export function createPostgresRateLimiter(options: PostgresRateLimiterOptions): RateLimiter {
  const { query, onUnavailable, timeoutMs = LIMITER_TIMEOUT_MS, windowLengthMs = RATE_WINDOW_MS } = options;
  return {
    charge: (key, cost, limitPerMinute) =>
      failClosed(
        async () => {
          const length = windowMs(cost, limitPerMinute, windowLengthMs);
          const rows = await query(CHARGE_STATEMENT, [key, cost, limitPerMinute, length]);
          return rows.length > 0;
        },
        { timeoutMs, onUnavailable },
      ),
  };
}
