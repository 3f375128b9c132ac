import { mappingUnavailable, messageOf } from '../db/errors.ts';
import type { Queryable } from '../db/statement.ts';
import { applyMigration } from './apply-migration.ts';
import { interruptVacuum, MigrationLockError } from './lock-tries.ts';
import { migrationFiles } from './migration-files.ts';
import type { Migration } from './migration-files.ts';
import { MIGRATE_LIMITS } from './migration-limits.ts';
import { underMigrationLock } from './migration-lock.ts';
import type { MigratorOptions } from './migration-lock.ts';
import { actAs, ownerOfTables } from './owner.ts';

/** Prisma's own table, so that `prisma migrate deploy` agrees with this runner. */
const MIGRATIONS_TABLE = `
  create table if not exists _prisma_migrations (
    id varchar(36) primary key, checksum varchar(64) not null, finished_at timestamptz,
    migration_name varchar(255) not null, logs text, rolled_back_at timestamptz,
    started_at timestamptz not null default now(), applied_steps_count integer not null default 0)`;

export interface MigrateOptions extends MigratorOptions {
  /** Default: `prisma/migrations`. */
  readonly directory?: string;
  /** Called with the name of each migration when it has been applied. */
  readonly onApplied?: (name: string) => void;
}

/**
 * Applies the pending migrations, under a lock that allows one migrator at a time. Each migration has its own
 * transaction. A file that begins with `-- no transaction` runs statement by statement.
 *
 * @returns the names of the migrations applied now.
 * @throws Error when an applied migration differs from its file: migrations are append-only. Also when a
 * pooler in transaction mode is in between: there the lock would hold nothing. Also when the session's role
 * is no member of the role that owns the tables. Also when the encoding of the database is not UTF8.
 * @throws MigrationLockError when a lock was not available in any try.
 * @throws StoreUnavailableError when Postgres does not answer.
 */
export async function migrate(
  databaseUrl: string,
  {
    say = () => undefined,
    directory,
    limits = MIGRATE_LIMITS,
    onApplied = () => undefined,
  }: MigrateOptions = {},
): Promise<string[]> {
  return underMigrationLock(databaseUrl, { say, limits }, async (client) => {
    await requireUtf8(client);
    await interruptVacuum(client);
    // The owner of the tables owns what a migration makes, whoever runs it.
    const owner = await ownerOfTables(client);
    const mayMigrate = owner === null || (await actAs(client, owner));
    if (owner === null) await client.query(MIGRATIONS_TABLE);
    const pending = pendingOf(migrationFiles(directory), await appliedMigrations(client));
    if (!mayMigrate && pending.length > 0) {
      throw new Error(`the tables belong to the database role ${owner}: migrate as a member of it`);
    }
    for (const migration of pending) {
      await applyMigration(client, migration, limits, say).catch((error: unknown) => {
        throw failureOf(migration, error);
      });
      onApplied(migration.name);
    }
    return pending.map((migration) => migration.name);
  });
}

/**
 * Mail has characters that other encodings lack, and we count the bytes of texts in UTF-8.
 *
 * @throws Error that names the encoding of the database, when it is not UTF8.
 * @throws StoreUnavailableError when Postgres does not answer.
 */
export async function requireUtf8(db: Queryable): Promise<void> {
  const { rows } = await mappingUnavailable(() =>
    db.query<{ encoding: string }>(`select current_setting('server_encoding') as encoding`),
  );
  const encoding = rows[0]?.encoding;
  if (encoding !== 'UTF8') {
    throw new Error(`the database has the encoding ${encoding}: create one with the encoding UTF8`);
  }
}

/**
 * Names of the migrations that the database lacks; empty when it is current.
 *
 * @throws StoreUnavailableError when Postgres does not answer.
 */
export async function pendingMigrations(db: Queryable): Promise<string[]> {
  return mappingUnavailable(async () => {
    const table = await db.query<{ exists: boolean }>(
      `select to_regclass('_prisma_migrations') is not null as exists`,
    );
    const applied = table.rows[0]?.exists === true ? await appliedMigrations(db) : new Map<string, string>();
    return pendingOf(migrationFiles(), applied).map((migration) => migration.name);
  });
}

async function appliedMigrations(db: Queryable): Promise<Map<string, string>> {
  const { rows } = await db.query<{ migration_name: string; checksum: string }>(
    'select migration_name, checksum from _prisma_migrations where finished_at is not null and rolled_back_at is null',
  );
  return new Map(rows.map((row) => [row.migration_name, row.checksum]));
}

function pendingOf(files: readonly Migration[], applied: ReadonlyMap<string, string>): Migration[] {
  return files.filter(({ name, checksum }) => {
    const known = applied.get(name);
    if (known !== undefined && known !== checksum) {
      throw new Error(`migration ${name} was changed after it had been applied`);
    }
    return known === undefined;
  });
}

function failureOf({ name }: Migration, error: unknown): Error {
  if (error instanceof MigrationLockError)
    return new MigrationLockError(`migration ${name} ${error.message}`);
  return new Error(`migration ${name} failed: ${messageOf(error)}`, { cause: error });
}
