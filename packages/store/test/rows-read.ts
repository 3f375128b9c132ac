import type { Pool } from 'pg';

/** Rows of our tables that were read so far, by whatever way. */
export async function rowsRead(pool: Pool): Promise<number> {
  await pool.query('select pg_stat_force_next_flush()');
  const { rows: counted } = await pool.query<{ n: number }>(
    `select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int
            + (select sum(idx_tup_read)::int from pg_stat_user_indexes) as n
     from pg_stat_user_tables`,
  );
  return counted[0]?.n ?? NaN;
}
