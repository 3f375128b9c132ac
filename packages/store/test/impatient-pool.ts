import type { Pool } from 'pg';
import { createPool } from '../src/db/pool.ts';
import type { PoolOptions } from '../src/db/pool.ts';

/** A pool whose statements fail when they wait longer for a lock: Postgres itself is the judge. */
export function createImpatientPool(options: PoolOptions, lockTimeoutMs: number): Pool {
  const pool = createPool(options);
  const { onConnect } = pool.options;
  // oxlint-disable-next-line typescript/no-misused-promises -- the pool awaits it, its types lack that
  pool.options.onConnect = async (client) => {
    await (onConnect?.(client) as unknown);
    await client.query(`set lock_timeout = ${lockTimeoutMs}`);
  };
  return pool;
}
