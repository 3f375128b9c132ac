import type { TestDatabase } from '@postrider/testing';
import { Pool } from 'pg';

/** The benchmark's own database, which goes with its server. */
export function openDatabase(url: string): TestDatabase {
  const pool = new Pool({ connectionString: url, max: 2 });
  return {
    url,
    query: async (sql, params = []) => (await pool.query<never>(sql, params)).rows,
    drop: () => pool.end(),
  };
}
