import type { Pool } from 'pg';
import type { Queryable } from '../db/statement.ts';
import { refuseTransactionPooler } from '../db/transaction-pooler.ts';
import { pendingMigrations } from './migrate.ts';

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

function lacksMigrations(pending: readonly string[]): Error {
  return new Error(`the database lacks migrations (${pending.join(', ')}); run \`npm run migrate\` first`);
}
