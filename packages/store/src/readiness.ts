import { mappingUnavailable } from './errors.ts';
import { pendingMigrations } from './migrate.ts';
import type { Queryable } from './statement.ts';

export type Readiness = { readonly ready: true } | { readonly ready: false; readonly reason: string };

/** Ready when Postgres answers and the migrations are current. */
export async function readiness(db: Queryable): Promise<Readiness> {
  try {
    await requireMigrated(db);
    return { ready: true };
  } catch (error) {
    return { ready: false, reason: error instanceof Error ? error.message : String(error) };
  }
}

/**
 * @throws Error naming the remedy when the database lacks migrations.
 * @throws StoreUnavailableError when Postgres does not answer.
 */
export async function requireMigrated(db: Queryable): Promise<void> {
  const pending = await mappingUnavailable(() => pendingMigrations(db));
  if (pending.length > 0) {
    throw new Error(`the database lacks migrations (${pending.join(', ')}); run \`npm run migrate\` first`);
  }
}
