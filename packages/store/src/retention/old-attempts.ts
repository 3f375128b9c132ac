import type { Pool } from 'pg';
import { dropAged, forRetention } from '../db/bounded-step.ts';

/**
 * Deletes old attempts from the default partition. They are there because no relay was running to make a
 * partition for their day. They are kept one day longer, because partitions are dropped by whole days, too.
 * @returns how many.
 */
export async function dropStrayAttempts(pool: Pool, days: number): Promise<number> {
  const kept = `make_interval(days => ${days + 1})`;
  return dropAged(pool, {
    table: 'attempts_default',
    age: forRetention('started_at'),
    kept,
  });
}
