import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { readdirSync } from 'node:fs';
import { createEmptyDatabase, createTestDatabase, openClient } from '@postrider/testing';
import type { TestDatabase } from '@postrider/testing';
import type { Client } from 'pg';
import { StoreUnavailableError } from '../db/errors.ts';
import { createPool } from '../db/pool.ts';
import { migrate, pendingMigrations } from './migrate.ts';
import { readiness, requireDatabase } from './readiness.ts';

const NAMES = readdirSync(new URL('../../../../prisma/migrations', import.meta.url), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name)
  .sort();
const FIRST = NAMES[0] ?? '';

let client: Client;
let url: string;

/** Registers hooks: each test gets a database of its own. */
function setupEach(create: () => Promise<Pick<TestDatabase, 'url' | 'drop'>>): void {
  let database: Awaited<ReturnType<typeof create>>;
  beforeEach(async () => {
    database = await create();
    url = database.url;
    client = await openClient(url);
  });
  afterEach(async () => {
    await client.end();
    await database.drop();
  });
}

describe('migrate', () => {
  setupEach(() => createEmptyDatabase());

  test('makes an empty database current and names what it applied, in order', async () => {
    expect(await pendingMigrations(client)).toEqual(NAMES);
    expect(await migrate(url)).toEqual(NAMES);
    expect(await pendingMigrations(client)).toEqual([]);
    const { rows } = await client.query<{ webhooks: string | null }>(
      `select to_regclass('public.webhooks') as webhooks`,
    );
    expect(rows).toEqual([{ webhooks: 'webhooks' }]);
  });

  test('by several at once is done by one of them; the others wait and find nothing to do', async () => {
    const applied = await Promise.all(Array.from({ length: 4 }, async () => migrate(url)));
    expect(applied.filter((names) => names.length > 0)).toEqual([NAMES]);
    const { rows } = await client.query('select migration_name from _prisma_migrations order by 1');
    expect(rows).toEqual(NAMES.map((migration_name) => ({ migration_name })));
  });

  test('that fails half-way leaves nothing of that migration behind and names it', async () => {
    await client.query('create table dead_letters (in_the_way integer)');
    await expect(migrate(url)).rejects.toThrow(`migration ${FIRST} failed`);
    const { rows } = await client.query<{ accounts: string | null }>(
      `select to_regclass('public.accounts') as accounts, (select count(*)::int from _prisma_migrations) as recorded`,
    );
    expect(rows).toEqual([{ accounts: null, recorded: 0 }]);
    await client.query('drop table dead_letters');
    expect(await migrate(url)).toEqual(NAMES);
  });

  test('says so when Postgres is away', async () => {
    await expect(migrate('postgres://nobody@127.0.0.1:9/none')).rejects.toThrow(StoreUnavailableError);
  });
});

async function required(): Promise<void> {
  const options = { databaseUrl: url, size: 1, applicationName: 'readiness-test', durableCommits: true };
  const pool = createPool({ ...options, onError: () => undefined });
  try {
    await requireDatabase(pool);
  } finally {
    await pool.end();
  }
}

describe('a current database', () => {
  setupEach(createTestDatabase);

  test('gets nothing more', async () => {
    expect(await migrate(url)).toEqual([]);
  });

  test('is refused when an applied migration differs from its file', async () => {
    await client.query(`update _prisma_migrations set checksum = 'another' where migration_name = $1`, [
      FIRST,
    ]);
    const fault = `migration ${FIRST} was changed after it had been applied`;
    await expect(migrate(url)).rejects.toThrow(fault);
    await expect(pendingMigrations(client)).rejects.toThrow(fault);
  });

  test('lacks a migration that Prisma rolled back or did not finish', async () => {
    for (const state of ['rolled_back_at = now()', 'rolled_back_at = null, finished_at = null']) {
      await client.query(`update _prisma_migrations set ${state} where migration_name = $1`, [FIRST]);
      expect(await pendingMigrations(client)).toEqual([FIRST]);
    }
  });

  test('may have migrations that a newer version has added', async () => {
    await client.query(
      `insert into _prisma_migrations (id, checksum, migration_name, finished_at) values ('x', 'x', '29990101000000_later', now())`,
    );
    expect(await pendingMigrations(client)).toEqual([]);
  });

  test('is ready', async () => {
    expect(await readiness(client)).toEqual({ ready: true, parts: { postgres: 'ok', migrations: 'ok' } });
    await required();
  });
});

describe('a database whose encoding is not UTF8', () => {
  setupEach(() => createEmptyDatabase(`encoding 'LATIN1' locale 'C'`));

  test('is refused by the migrator, and by each process at its start', async () => {
    const words = 'the database has the encoding LATIN1: create one with the encoding UTF8';
    await expect(migrate(url)).rejects.toThrow(words);
    await expect(required()).rejects.toThrow(words);
    expect((await client.query(`select from pg_class where relname = '_prisma_migrations'`)).rows).toEqual(
      [],
    );
  });
});

describe('readiness', () => {
  setupEach(() => createEmptyDatabase());

  test('is withheld from a database that lacks migrations; their number and the remedy are in the cause', async () => {
    const words = `the database lacks ${NAMES.length} migrations; run \`npm run migrate\` first, in an image \`node dist/cli.js migrate\``;
    expect(await readiness(client)).toEqual({
      ready: false,
      reason: 'migrations are pending',
      cause: new Error(words),
      parts: { postgres: 'ok', migrations: 'migrations are pending' },
    });
    await expect(required()).rejects.toThrow(words);
  });

  test('is withheld when Postgres does not answer, without a word of where it is', async () => {
    const gone = await openClient(url);
    gone.on('error', () => undefined);
    await gone.end();
    expect(await readiness(gone)).toEqual({
      ready: false,
      reason: 'Postgres does not answer',
      cause: expect.any(StoreUnavailableError),
      parts: { postgres: 'Postgres does not answer', migrations: 'unknown' },
    });
  });
});
