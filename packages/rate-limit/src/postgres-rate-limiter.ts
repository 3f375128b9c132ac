import { windowMs } from '@postrider/domain';
import type { RateLimiter } from '@postrider/domain';
import { ChargeQueues } from './charge-queues.ts';
import type { StoreCharge } from './charge-queues.ts';
import { CHARGE_STATEMENT } from './charge-statement.ts';
import { failClosed } from './fail-closed.ts';
import type { LimiterOptions } from './fail-closed.ts';
import { SpentWindows } from './spent-windows.ts';

/**
 * Reads one key's window and changes nothing.
 *
 * Parameters: $1 key, $2 limit. Returns one row: whether a charge of 1 is allowed, and the use and remaining
 * time of an open window. Without an open window any charge is allowed, for any limit.
 */
const PEEK_STATEMENT = `
select coalesce(max(used), 0) < $2::int or count(*) = 0 as allowed, coalesce(max(used), 0)::int as used,
       coalesce(max(extract(epoch from ends_at - now())), 0)::float8 * 1000 as "leftMs"
from rate_limits
where key = $1::text and ends_at > now()`;

export interface PostgresRateLimiterOptions extends LimiterOptions {
  /** Runs one statement outside any transaction and returns its rows. */
  readonly query: (sql: string, params: readonly unknown[]) => Promise<readonly unknown[]>;
}

/** A row of PEEK_STATEMENT or CHARGE_STATEMENT. */
interface WindowRow {
  readonly allowed: boolean;
  readonly used: number;
  readonly leftMs: number;
}

/**
 * Stores the windows in the unlogged table `rate_limits`, one row per key that was ever charged. A crash of
 * Postgres empties the table. Every window then restarts, except the ones that this process knows to be used
 * up.
 *
 * A flood on one key takes no connections from other keys. Each key has one statement in flight, for all its
 * waiting charges. A charge that cannot fit into the known window is refused without a query.
 */
export function createPostgresRateLimiter(options: PostgresRateLimiterOptions): RateLimiter {
  const { query, windowLengthMs } = options;
  const spent = new SpentWindows(() => performance.now());

  async function ask({ key, cost, limit }: StoreCharge): Promise<boolean> {
    // Read before Postgres reads its clock, so a window never seems longer than it is.
    const askedAtMs = performance.now();
    const rows =
      cost === 0 // `peek`
        ? await query(PEEK_STATEMENT, [key, limit])
        : await query(CHARGE_STATEMENT, [key, cost, limit, windowMs(cost, limit, windowLengthMs)]);
    const [row] = rows as readonly WindowRow[];
    if (row === undefined) return false;
    spent.add(key, { used: row.used, endsAt: askedAtMs + row.leftMs });
    return row.allowed;
  }

  const queues = new ChargeQueues(ask, spent);
  return {
    charge: (key, cost, limitPerMinute) =>
      failClosed((overdue) => queues.charge(key, cost, limitPerMinute, overdue), options),
    peek: (key, limitPerMinute) =>
      failClosed((overdue) => queues.charge(key, 0, limitPerMinute, overdue), options),
  };
}
