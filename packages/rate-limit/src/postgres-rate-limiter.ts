import { performance } from 'node:perf_hooks';
import { RATE_WINDOW_MS, windowMs } from '@postrider/domain';
import type { RateLimiter } from '@postrider/domain';
import { createChargeLines } from './charge-lines.ts';
import type { StoreCharge } from './charge-lines.ts';
import { CHARGE_STATEMENT } from './charge-statement.ts';
import { failClosed, LIMITER_TIMEOUT_MS, unlessAborted } from './fail-closed.ts';
import type { FailClosedOptions } from './fail-closed.ts';
import { PEEK_STATEMENT } from './peek-statement.ts';
import { createSpentWindows } from './spent-windows.ts';

/** Runs one statement outside of any transaction, and answers with its rows. */
export type Query = (sql: string, params: readonly unknown[]) => Promise<readonly unknown[]>;

export interface PostgresRateLimiterOptions extends Partial<FailClosedOptions> {
  readonly query: Query;
  readonly onUnavailable: FailClosedOptions['onUnavailable'];
  /** Length of an ordinary window in milliseconds; the contract's when left out. */
  readonly windowLengthMs?: number;
}

/** A row of either statement. */
interface Seen {
  readonly allowed: boolean;
  readonly used: number;
  readonly leftMs: number;
}

/**
 * Keeps the limit in the unlogged table `rate_limits`, one row for each key that was ever charged. A crash of
 * Postgres empties the table: every window begins anew, but for one that this process knows to be spent.
 *
 * A flood of one key takes no connection from the others: one statement of a key is under way at a time, for all of its
 * charges that wait, and Postgres is not asked about what cannot fit by what is known of the window.
 */
export function createPostgresRateLimiter(options: PostgresRateLimiterOptions): RateLimiter {
  const { query, onUnavailable, timeoutMs = LIMITER_TIMEOUT_MS, windowLengthMs = RATE_WINDOW_MS } = options;
  const spent = createSpentWindows(() => performance.now());

  async function ask({ key, cost, limit }: StoreCharge): Promise<boolean> {
    // Before Postgres reads its own clock: counted from here, a window never seems longer than it is.
    const askedAt = performance.now();
    const [seen] = (await (cost === 0
      ? query(PEEK_STATEMENT, [key, limit])
      : query(CHARGE_STATEMENT, [
          key,
          cost,
          limit,
          windowMs(cost, limit, windowLengthMs),
        ]))) as readonly Seen[];
    if (seen === undefined) return false;
    spent.add(key, { used: seen.used, endsAt: askedAt + seen.leftMs });
    return seen.allowed;
  }

  const lines = createChargeLines(ask, spent);
  const limits = { timeoutMs, onUnavailable };
  return {
    charge: (key, cost, limitPerMinute) =>
      failClosed(
        (overdue) => unlessAborted(lines.charge(key, cost, limitPerMinute, overdue), overdue),
        limits,
      ),
    peek: (key, limitPerMinute) =>
      failClosed((overdue) => unlessAborted(lines.charge(key, 0, limitPerMinute, overdue), overdue), limits),
  };
}
