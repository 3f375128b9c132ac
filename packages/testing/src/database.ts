import { randomBytes } from 'node:crypto';
import type { Client, QueryResultRow } from 'pg';
import { administer, cloneDatabase, databaseUrl, openClient } from './admin.ts';
import { ADMIN_URL_KEY, environmentVariable, TEMPLATE_KEY } from './environment.ts';

export interface TestDatabase {
  /** The URL of a superuser, or of the role in TEST_DATABASE_URL. */
  url: string;
  /** Runs statements in order on one connection, which stays open until `drop`. */
  query<Row extends QueryResultRow = QueryResultRow>(sql: string, params?: unknown[]): Promise<Row[]>;
  /** Closes all connections and removes the database. */
  drop(): Promise<void>;
}

/** A fresh database with every migration applied and no rows: a clone of the template. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const name = newName();
  await cloneDatabase(required(ADMIN_URL_KEY), name, required(TEMPLATE_KEY));
  return testDatabase(name);
}

/** A fresh database without a table. @param options of `create database`, such as `encoding 'LATIN1'` */
export async function createEmptyDatabase(options = ''): Promise<TestDatabase> {
  const name = newName();
  await administer(required(ADMIN_URL_KEY), `create database ${name} ${options} template template0`);
  return testDatabase(name);
}

function newName(): string {
  return `test_${randomBytes(8).toString('hex')}`;
}

function testDatabase(name: string): TestDatabase {
  const adminUrl = required(ADMIN_URL_KEY);
  const url = databaseUrl(adminUrl, name);
  let client: Promise<Client> | null = null;
  let last: Promise<unknown> = Promise.resolve();
  return {
    url,
    query: async (sql, params = []) => {
      const connected = (client ??= openClient(url));
      // Waits for the last statement, because pg 9 will not queue statements itself.
      const result = last.then(async () => (await connected).query<never>(sql, params));
      last = result.catch(() => undefined);
      return (await result).rows;
    },
    drop: async () => {
      await (await client)?.end();
      client = null;
      await administer(adminUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    },
  };
}

/** The address of the server's administrative database, for tests that create or drop databases. */
export function adminDatabaseUrl(): string {
  return required(ADMIN_URL_KEY);
}

function required(key: string): string {
  const value = environmentVariable(key);
  if (value === undefined) throw new Error(`${key} is not set: run the tests through Jest's global setup`);
  return value;
}
