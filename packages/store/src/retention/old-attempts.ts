import type { Pool } from 'pg';
import { dropAged, forRetention } from '../db/bounded-step.ts';
import { mappingUnavailable } from '../db/errors.ts';

/**
 * Drops attempts past their days that lie in the default partition: no relay was there to make a partition of their day,
 * so they cannot go with it. They are kept for a day more: partitions go by whole days, too. @returns how many.
 */
export async function dropStrayAttempts(pool: Pool, days: number): Promise<number> {
  const kept = `make_interval(days => ${days + 1})`;
  return mappingUnavailable(() =>
    dropAged(pool, 'stray attempts', { table: 'attempts_default', age: forRetention('started_at'), kept }),
  );
}
