import type { Queryable } from '../db/statement.ts';
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
 * @throws Error that names the remedy, when the database lacks migrations.
 * @throws StoreUnavailableError when Postgres does not answer.
 */
export async function requireMigrated(db: Queryable): Promise<void> {
  const pending = await pendingMigrations(db);
  if (pending.length > 0) throw lacksMigrations(pending);
}

function lacksMigrations(pending: readonly string[]): Error {
  return new Error(`the database lacks migrations (${pending.join(', ')}); run \`npm run migrate\` first`);
}
