import type { Pool } from 'pg';
import type { Queryable } from '../db/statement.ts';
import { refuseTransactionPooler } from '../db/transaction-pooler.ts';
import { pendingMigrations, requireUtf8 } from './migrate.ts';
import { lacksRights, rightsOf } from './rights.ts';

/** The remedy for a database that lacks migrations. A container image has neither npm nor the scripts. */
export const MIGRATE_FIRST = 'run `npm run migrate` first, in an image `node dist/cli.js migrate`';

/** Each part is `ok`, or its fault. */
type Parts = Readonly<Record<'postgres' | 'migrations', string>>;

/** `reason` and `parts` are safe to publish. `cause` names hosts and tables: it is for the log only. */
export type Readiness =
  | { readonly ready: true; readonly parts: Parts }
  | { readonly ready: false; readonly reason: string; readonly cause: unknown; readonly parts: Parts };

const OK = 'ok';

/** Ready: Postgres answers, and the migrations are current. */
export async function readiness(db: Queryable): Promise<Readiness> {
  try {
    const pending = await pendingMigrations(db);
    if (pending.length === 0) return { ready: true, parts: { postgres: OK, migrations: OK } };
    const reason = 'migrations are pending';
    const parts = { postgres: OK, migrations: reason };
    return { ready: false, reason, cause: lacksMigrations(pending), parts };
  } catch (error) {
    const reason = 'Postgres does not answer';
    return { ready: false, reason, cause: error, parts: { postgres: reason, migrations: 'unknown' } };
  }
}

/**
 * Checks at the start of a process that it can work with this database.
 *
 * @param warn receives one line when the database role lacks a right. Not every process needs all rights.
 * @throws Error that names the remedy, when the database lacks migrations or the encoding UTF8, or a pooler
 * in transaction mode stands before it.
 * @throws StoreUnavailableError when Postgres does not answer.
 */
export async function requireDatabase(
  pool: Pool,
  warn: (line: string) => void = () => undefined,
): Promise<void> {
  await refuseTransactionPooler(pool.options.connectionString ?? '');
  await requireUtf8(pool);
  const pending = await pendingMigrations(pool);
  if (pending.length > 0) throw lacksMigrations(pending);
  const rights = await rightsOf(pool);
  if (rights.lacks.length > 0) warn(lacksRights(rights).message);
}

export function lacksMigrations(pending: readonly string[]): Error {
  const count = pending.length === 1 ? 'a migration' : `${pending.length} migrations`;
  return new Error(`the database lacks ${count}; ${MIGRATE_FIRST}`);
}
