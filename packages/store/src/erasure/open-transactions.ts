import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import { inBoundedStep } from '../bounded-step.ts';
import type { Erased } from './erasure.ts';

/** Nearly all transactions end within milliseconds. One that takes longer is left to the next look. */
const WAIT_MAX_MS = 1_000;
const ASK_EVERY_MS = 20;

/** Of a role whose sessions may not be read (`pg_read_all_stats`) nobody knows when it began: it counts. */
const OPEN = `
  select count(*)::int as open, (extract(epoch from min(xact_start)) * 1000)::float8 as "oldestMs"
  from pg_stat_activity
  where datname = current_database() and backend_xid is not null
    and coalesce(xact_start <= $1::timestamptz, true)`;

/**
 * Waits a moment for the transactions that have written something, and began before the request: a row of theirs may have an
 * earlier date than the request and be committed after the look. @returns those that are still open, as pending.
 */
export async function openTransactions(pool: Pool, requestedAt: string): Promise<Erased> {
  const endsAtMs = performance.now() + WAIT_MAX_MS;
  for (;;) {
    const { rows } = await inBoundedStep(pool, (client) =>
      client.query<{ open: number; oldestMs: number | null }>(OPEN, [requestedAt]),
    );
    const [{ open, oldestMs } = { open: 0, oldestMs: null }] = rows;
    if (open === 0 || performance.now() > endsAtMs) {
      return { erased: 0, pending: open, oldestPendingMs: oldestMs ?? Infinity };
    }
    await delay(ASK_EVERY_MS);
  }
}
