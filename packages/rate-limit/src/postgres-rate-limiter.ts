import { performance } from 'node:perf_hooks';
import { RATE_WINDOW_MS, windowMs } from '@postrider/domain';
import type { RateLimiter } from '@postrider/domain';
import { CHARGE_STATEMENT } from './charge-statement.ts';
import { failClosed, LIMITER_TIMEOUT_MS, unlessAborted } from './fail-closed.ts';
import type { FailClosedOptions } from './fail-closed.ts';
import { createSpentWindows } from './spent-windows.ts';
import { createTurns } from './turns.ts';

/** Runs one statement outside of any transaction, and answers with its rows. */
export type Query = (sql: string, params: readonly unknown[]) => Promise<readonly unknown[]>;

export interface PostgresRateLimiterOptions extends Partial<FailClosedOptions> {
  readonly query: Query;
  readonly onUnavailable: FailClosedOptions['onUnavailable'];
  /** Length of an ordinary window in milliseconds; the contract's when left out. */
  readonly windowLengthMs?: number;
}

/** A row of `CHARGE_STATEMENT`. */
interface Charged {
  readonly allowed: boolean;
  readonly used: number;
  readonly leftMs: number;
}

/**
 * Keeps the limit in the unlogged table `rate_limits`, one row for each key that was ever charged. A crash of
 * Postgres empties the table: every window begins anew, but for one that this process knows to be spent.
 *
 * A flood of one key takes no connection from the others: one charge of a key is under way at a time, and once one
 * was refused, Postgres is not asked again before something could fit.
 */
export function createPostgresRateLimiter(options: PostgresRateLimiterOptions): RateLimiter {
  const { query, onUnavailable, timeoutMs = LIMITER_TIMEOUT_MS, windowLengthMs = RATE_WINDOW_MS } = options;
  const inTurn = createTurns();
  const spent = createSpentWindows(() => performance.now());

  async function ask(key: string, cost: number, limit: number): Promise<boolean> {
    // Before Postgres reads its own clock: counted from here, a window never seems longer than it is.
    const askedAt = performance.now();
    const length = windowMs(cost, limit, windowLengthMs);
    const [charged] = (await query(CHARGE_STATEMENT, [key, cost, limit, length])) as readonly Charged[];
    if (charged?.allowed === false) {
      spent.add(key, { used: charged.used, endsAt: askedAt + charged.leftMs });
    }
    return charged?.allowed ?? false;
  }

  return {
    charge: (key, cost, limitPerMinute) =>
      failClosed(
        (overdue) =>
          inTurn(key, async () => {
            overdue.throwIfAborted();
            if (spent.refuses(key, cost, limitPerMinute)) return false;
            // A store that hangs holds up the key for the time limit, not until it answers.
            return unlessAborted(ask(key, cost, limitPerMinute), overdue);
          }),
        { timeoutMs, onUnavailable },
      ),
  };
}
