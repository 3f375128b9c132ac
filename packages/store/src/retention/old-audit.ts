import type { Pool } from 'pg';
import { dropAged, forRetention } from '../db/bounded-step.ts';

/** Deletes old entries of the audit. @returns how many. */
export async function dropOldAudit(pool: Pool, days: number): Promise<number> {
  const age = forRetention('created_at');
  return dropAged(pool, { table: 'audit', age, kept: `make_interval(days => ${days})` });
}
