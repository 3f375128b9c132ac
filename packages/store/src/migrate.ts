import { createHash, randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { mappingUnavailable } from './errors.ts';
import type { Queryable } from './statement.ts';

/** Prisma's own lock and table, so that `prisma migrate deploy` agrees with this runner. */
const MIGRATION_LOCK = 72707369;
const MIGRATIONS_TABLE = `
  create table if not exists _prisma_migrations (
    id varchar(36) primary key, checksum varchar(64) not null, finished_at timestamptz,
    migration_name varchar(255) not null, logs text, rolled_back_at timestamptz,
    started_at timestamptz not null default now(), applied_steps_count integer not null default 0)`;

/** A server that takes the connection and says nothing is an error, too. */
const CONNECT_TIMEOUT_MS = 5_000;

interface Migration {
  readonly name: string;
  readonly sql: string;
}

/**
 * Applies the pending migrations, each in a transaction of its own, under a lock that lets one migrator run.
 *
 * @returns the names of those applied now.
 * @throws Error when an applied migration differs from its file: migrations are append-only.
 * @throws StoreUnavailableError when Postgres does not answer.
 */
export async function migrate(databaseUrl: string): Promise<string[]> {
  const client = new Client({
    connectionString: databaseUrl,
    application_name: 'postrider-migrate',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  return mappingUnavailable(async () => {
    await client.connect();
    try {
      await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK]);
      await client.query(MIGRATIONS_TABLE);
      const pending = pendingOf(migrationFiles(), await appliedMigrations(client));
      for (const migration of pending) await apply(client, migration);
      return pending.map((migration) => migration.name);
    } finally {
      await client.end();
    }
  });
}

/** The names of the migrations that the database lacks; empty when it is current. */
export async function pendingMigrations(db: Queryable): Promise<string[]> {
  const table = await db.query<{ exists: boolean }>(
    `select to_regclass('_prisma_migrations') is not null as exists`,
  );
  const applied = table.rows[0]?.exists === true ? await appliedMigrations(db) : new Map<string, string>();
  return pendingOf(migrationFiles(), applied).map((migration) => migration.name);
}

async function appliedMigrations(db: Queryable): Promise<Map<string, string>> {
  const { rows } = await db.query<{ migration_name: string; checksum: string }>(
    'select migration_name, checksum from _prisma_migrations where finished_at is not null and rolled_back_at is null',
  );
  return new Map(rows.map((row) => [row.migration_name, row.checksum]));
}

function pendingOf(files: readonly Migration[], applied: ReadonlyMap<string, string>): Migration[] {
  return files.filter((file) => {
    const checksum = applied.get(file.name);
    if (checksum !== undefined && checksum !== checksumOf(file)) {
      throw new Error(`migration ${file.name} was changed after it had been applied`);
    }
    return checksum === undefined;
  });
}

async function apply(client: Client, migration: Migration): Promise<void> {
  await client.query('begin');
  try {
    await client.query(migration.sql);
    await client.query(
      `insert into _prisma_migrations (id, checksum, migration_name, finished_at, applied_steps_count)
       values ($1, $2, $3, now(), 1)`,
      [randomUUID(), checksumOf(migration), migration.name],
    );
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw new Error(`migration ${migration.name} failed`, { cause: error });
  }
}

function checksumOf(migration: Migration): string {
  return createHash('sha256').update(migration.sql).digest('hex');
}

/** In the order of their names, which begin with a timestamp. */
function migrationFiles(): Migration[] {
  const directory = migrationsDirectory();
  return readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => ({
      name: entry.name,
      sql: readFileSync(join(directory, entry.name, 'migration.sql'), 'utf8'),
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** `prisma/migrations` in the nearest folder above: the same from the sources, a bundle, or an image. */
function migrationsDirectory(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    const candidate = join(folder, 'prisma', 'migrations');
    if (existsSync(candidate)) return candidate;
    if (folder === dirname(folder)) throw new Error('no prisma/migrations folder above the program');
  }
}
