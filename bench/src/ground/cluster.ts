import { join } from 'node:path';
import { startPostgres } from '@postrider/embedded';
import type { RunningPostgres } from '@postrider/embedded';
import { migrateQueueSchema } from '@postrider/queue';
import { migrate } from '@postrider/store';
import { databaseUrl, withClient } from '@postrider/testing';
import { Pool } from 'pg';

/** A private Postgres server for the run. */
export interface Cluster {
  readonly pid: number;
  /** Why statements cannot be counted, or null when they can. */
  readonly notCounting: string | null;
  /** `PostgreSQL 18.4` */
  readonly version: string;
  readonly settings: Readonly<Record<string, string>>;
  createDatabase(): Promise<BenchDatabase>;
  stop(): Promise<void>;
}

/** A migrated database of one installation. */
export interface BenchDatabase {
  /** For the product: it owns the database. */
  readonly productUrl: string;
  /** For everybody else: the server's superuser, told apart from the product where statements are counted. */
  readonly url: string;
  query<Row extends object>(sql: string, values?: readonly unknown[]): Promise<Row[]>;
  drop(): Promise<void>;
}

/** The product's role. It needs nothing but its own database. */
export const PRODUCT_ROLE = 'postrider';
const PRODUCT_PASSWORD = 'bench';
/** What the page tells of the server's configuration. */
const SETTINGS_SHOWN = [
  'shared_buffers',
  'synchronous_commit',
  'fsync',
  'max_wal_size',
  'autovacuum_naptime',
];
/** Counted only where a database turns it on: see the figure of the statements. */
const COUNTING = { shared_preload_libraries: 'pg_stat_statements', 'pg_stat_statements.track': 'none' };

/** Has the server count the statements of sessions that begin from now on. */
export async function countStatements(database: BenchDatabase): Promise<void> {
  await database.query('create extension pg_stat_statements');
  const [row] = await database.query<{ name: string }>('select current_database() as name');
  await database.query(`alter database ${row?.name ?? ''} set pg_stat_statements.track = 'top'`);
}

/** @param which of them, as SQL about `s.query`; default: all. @returns how many statements of the product were counted */
export async function countCalls(database: BenchDatabase, which = 'true'): Promise<number> {
  const [row] = await database.query<{ calls: number }>(
    `select coalesce(sum(s.calls), 0)::int as calls
     from pg_stat_statements s
     join pg_roles r on r.oid = s.userid and r.rolname = $1
     join pg_database d on d.oid = s.dbid and d.datname = current_database()
     where ${which}`,
    [PRODUCT_ROLE],
  );
  // Without a single one, the counting was off: that is no good figure.
  if (row === undefined || row.calls === 0) throw new Error('pg_stat_statements has counted nothing');
  return row.calls;
}

/** Durable, as in production: every commit waits for the disk. */
export async function startCluster(folder: string): Promise<Cluster> {
  const { postgres, notCounting } = await startCounting(join(folder, 'postgres'));
  await asAdmin(postgres.url, `create role ${PRODUCT_ROLE} login password '${PRODUCT_PASSWORD}'`);
  const [version] = await asAdmin<{ version: string }>(postgres.url, 'select version()');
  const settings = await asAdmin<{ name: string; value: string }>(
    postgres.url,
    `select name, current_setting(name) as value from unnest(array['${SETTINGS_SHOWN.join("','")}']) name`,
  );
  let databases = 0;
  return {
    pid: postgres.pid,
    notCounting,
    version: version?.version.split(' ').slice(0, 2).join(' ') ?? 'unknown',
    settings: Object.fromEntries(settings.map(({ name, value }) => [name, value])),
    createDatabase: () => createDatabase(postgres.url, `bench_${++databases}`),
    stop: () => postgres.stop(),
  };
}

/** A Postgres without the extension, as a bare one from PATH, serves all other figures. */
async function startCounting(
  dataDir: string,
): Promise<{ postgres: RunningPostgres; notCounting: string | null }> {
  const options = { dataDir, durable: true, throwAway: true };
  try {
    return { postgres: await startPostgres({ ...options, settings: COUNTING }), notCounting: null };
  } catch (error) {
    if (!String(error).includes('pg_stat_statements')) throw error;
    return { postgres: await startPostgres(options), notCounting: 'this Postgres lacks pg_stat_statements' };
  }
}

async function createDatabase(adminUrl: string, name: string): Promise<BenchDatabase> {
  await asAdmin(adminUrl, `create database ${name} owner ${PRODUCT_ROLE}`);
  const url = databaseUrl(adminUrl, name);
  const productUrl = new URL(url);
  productUrl.username = PRODUCT_ROLE;
  productUrl.password = PRODUCT_PASSWORD;
  await migrate(productUrl.href);
  await migrateQueueSchema(productUrl.href);
  const pool = new Pool({ connectionString: url, max: 2 });
  pool.on('error', () => undefined); // the run that uses it fails by its next statement
  return {
    productUrl: productUrl.href,
    url,
    query: async (sql, values = []) => (await pool.query<never>(sql, [...values])).rows,
    async drop() {
      await pool.end();
      await asAdmin(adminUrl, `drop database ${name} with (force)`);
    },
  };
}

async function asAdmin<Row extends object>(url: string, sql: string): Promise<Row[]> {
  return withClient(url, async (client) => (await client.query<never>(sql)).rows);
}
