import type { Pool } from 'pg';
import type { Queryable } from '../db/statement.ts';
import { refuseTransactionPooler } from '../db/transaction-pooler.ts';
import { pendingMigrations } from './migrate.ts';

/** The remedy for a database that is behind. An image has neither npm nor the scripts. */
export const MIGRATE_FIRST = 'run `npm run migrate` first, in an image `node dist/cli.js migrate`';

/** `reason` is safe to publish. `cause` names hosts and tables: it is for the log only. */
export type Readiness =
  { readonly ready: true } | { readonly ready: false; readonly reason: string; readonly cause: unknown };

/** Ready: Postgres answers, and the migrations are current. */
export async function readiness(db: Queryable): Promise<Readiness> {
  try {
    const pending = await pendingMigrations(db);
    if (pending.length === 0) return { ready: true };
    return { ready: false, reason: 'migrations are pending', cause: lacksMigrations(pending) };
  } catch (error) {
    return { ready: false, reason: 'Postgres does not answer', cause: error };
  }
}

/**
 * Checks at the start of a process that it can work with this database.
 *
 * @throws Error that names the remedy, when the database lacks migrations, or a pooler in transaction mode
 * stands before it.
 * @throws StoreUnavailableError when Postgres does not answer.
 */
export async function requireDatabase(pool: Pool): Promise<void> {
  await refuseTransactionPooler(pool.options.connectionString ?? '');
  const pending = await pendingMigrations(pool);
  if (pending.length > 0) throw lacksMigrations(pending);
}

export function lacksMigrations(pending: readonly string[]): Error {
  const count = pending.length === 1 ? 'a migration' : `${pending.length} migrations`;
  return new Error(`the database lacks ${count}; ${MIGRATE_FIRST}`);
}
