import type { Pool } from 'pg';
import { pendingMigrations } from './migrate.ts';

export type Readiness = { readonly ready: true } | { readonly ready: false; readonly reason: string };

/** Ready when Postgres answers and the migrations are current. */
export async function readiness(pool: Pool): Promise<Readiness> {
  try {
    const pending = await pendingMigrations(pool);
    return pending.length === 0
      ? { ready: true }
      : { ready: false, reason: `the database lacks migrations: ${pending.join(', ')}` };
  } catch (error) {
    return { ready: false, reason: error instanceof Error ? error.message : String(error) };
  }
}
