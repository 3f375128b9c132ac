import type { Pool } from 'pg';
import { queryOn } from './database.ts';

/** Rounded up to a millisecond, because the rows that are compared with it may be rounded up as well. */
const NOW = `select date_trunc('milliseconds', clock_timestamp()) + interval '1 ms' as now`;

/** The time by Postgres's clock. The clock of this machine may differ by minutes. */
export async function readPostgresTime(pool: Pool): Promise<Date> {
  const { rows } = await queryOn<{ now: Date }>(pool, NOW, []);
  const [{ now }] = rows as [{ now: Date }];
  return now;
}
