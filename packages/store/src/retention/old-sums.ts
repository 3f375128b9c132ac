import type { Pool } from 'pg';
import { dropAged } from '../db/bounded-step.ts';

/** The overview shows the last minutes. A minute stays until it is settled: its hour depends on it. */
const MINUTES_KEPT = `greatest(interval '2 hours', now() - (select settled_until from attempt_sums))`;

/** Deletes sums of attempts by minute, and those by hour that are older than `days`. @returns how many. */
export async function dropOldSums(pool: Pool, days: number): Promise<number> {
  const minutes = { table: 'attempts_by_minute', age: 'begins_at', kept: MINUTES_KEPT };
  const hours = { table: 'attempts_by_hour', age: 'begins_at', kept: `make_interval(days => ${days})` };
  return (await dropAged(pool, minutes)) + (await dropAged(pool, hours));
}
