import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { waitFor } from '@postrider/testing';
import type { Client } from 'pg';
import { openMigrationFixture } from '../../test/migration-fixture.ts';
import type { MigrationFixture } from '../../test/migration-fixture.ts';
import { migrate } from './migrate.ts';
import { locksBusyTable, migrationFiles, runsInTransaction } from './migration-files.ts';
import type { Migration } from './migration-files.ts';
import { isConcurrent, statementsOf } from './migration-statements.ts';

/** What deliveries and sends write, or look up by a foreign key. */
const BUSY_TABLES = [
  ...['accounts', 'webhooks', 'events', 'deliveries', 'attempts', 'dead_letters'],
  ...['emails', 'email_sends'],
];

const { migration: lastReleased } = JSON.parse(
  readFileSync(new URL('../../../../prisma/last-release.json', import.meta.url), 'utf8'),
) as { readonly migration: string };
const released = migrationFiles().filter(({ name }) => name <= lastReleased);
const unreleased = migrationFiles().filter(({ name }) => name > lastReleased);

let releasedFixture: MigrationFixture;
let fixture: MigrationFixture;
beforeAll(async () => {
  releasedFixture = await openMigrationFixture();
  for (const { name, sql } of released) releasedFixture.write(name, sql);
  await migrate(releasedFixture.url, { directory: releasedFixture.directory });
  await releasedFixture.client.query(
    `create table attempts_20260101 partition of attempts for values from ('2026-01-01') to ('2026-01-02')`,
  );
  await releasedFixture.client.end(); // only a database without connections can be copied
});
afterAll(() => releasedFixture.close());
beforeEach(async () => {
  fixture = await openMigrationFixture(releasedFixture.name);
  for (const { name, sql } of released) fixture.write(name, sql);
});
afterEach(() => fixture.close());

test('the last release has its migrations here', () => {
  expect(released.at(-1)?.name).toBe(lastReleased);
});

describe('each migration since the last release', () => {
  test('keeps the rules of docs/operations/deploy.md', async () => {
    const broken: Record<string, readonly string[]> = {};
    for (const migration of unreleased) {
      const rules = rulesBrokenBy(migration, await locksOf(migration));
      if (rules.length > 0) broken[migration.name] = rules;
    }
    expect(broken).toEqual({});
  });

  test.each([
    ['1_two', 'alter table topics add a int; alter table domains add a int', 'changes two tables that exist'],
    ['1_fill', '-- no transaction\nupdate topics set name = name', 'writes rows'],
    ['1_fill', 'insert into accounts (id, name) select id, id from webhooks', 'writes rows'],
    ['1_index', '-- no transaction\ncreate index i on topics (name)', 'builds an index under a lock'],
    ['1_busy', 'alter table attempts add a int', 'locks a busy table and does not say so'],
    ['1_given', `-- no transaction\nselect 'alter table events add a int' as statement`, 'locks a busy'],
  ])('is found out where it breaks one: %s %s', async (name, sql, rule) => {
    const migration = { name, sql, checksum: '' };
    const rules = rulesBrokenBy(migration, await locksOf(migration));
    expect(rules).toEqual(expect.arrayContaining([expect.stringContaining(rule)]));
  });

  test('lets who writes to a busy table wait for less than 300 ms, whatever reads the table', async () => {
    const readers = new Map<string, Client>();
    for (const table of ['deliveries', 'attempts', 'emails', 'accounts']) {
      const reader = await fixture.connect();
      await reader.query(`begin; select from ${table}`);
      readers.set(table, reader);
    }
    await fixture.client.query(`set lock_timeout = '300ms'`); // Postgres itself is the judge
    const migrating = migrate(fixture.url);
    while (readers.size > 0) {
      const isWaitedFor = async () => (await tablesWaitedFor()).find((table) => readers.has(table));
      const what = `a migration to wait for one of ${[...readers.keys()].join()}`;
      const table = await waitFor(isWaitedFor, { what, timeoutMs: 20_000 });
      await fixture.client.query(`begin; lock table ${table} in row exclusive mode; rollback`);
      await readers.get(table)?.query('rollback');
      readers.delete(table);
    }
    expect(await migrating).toEqual(unreleased.map(({ name }) => name));
  });
});

/** A partition counts as its whole. */
async function tablesWaitedFor(): Promise<string[]> {
  const { rows } = await fixture.client.query<{ table: string }>(
    `select coalesce(pg_partition_root(relation), relation)::regclass::text as table
     from pg_locks join pg_stat_activity using (pid)
     where locktype = 'relation' and not granted and datname = current_database()
       and application_name = 'postrider-migrate'`,
  );
  return rows.map(({ table }) => table);
}

/** A lock on a table that was there before, for which writers wait, or which a writer takes. */
interface Lock {
  /** Of a partition: the whole. */
  readonly table: string;
  readonly mode: string;
  readonly partitioned: boolean;
}

function rulesBrokenBy(migration: Migration, locks: readonly Lock[]): string[] {
  const tables = new Set(locks.map(({ table }) => table));
  const rules: Record<string, boolean> = {
    'changes two tables that exist in one transaction': runsInTransaction(migration) && tables.size > 1,
    'writes rows': locks.some(({ mode }) => mode === 'RowExclusiveLock'),
    'builds an index under a lock': locks.some(
      ({ mode, partitioned }) => mode === 'ShareLock' && !partitioned,
    ),
    'locks a busy table and does not say so':
      !locksBusyTable(migration) && BUSY_TABLES.some((busy) => tables.has(busy)),
  };
  return Object.keys(rules).filter((rule) => rules[rule]);
}

/** Applies a migration, and asks Postgres what it locks. Concurrent statements are left out. */
async function locksOf(migration: Migration): Promise<Lock[]> {
  const { client } = fixture;
  await client.query(`create table before as select oid from pg_class where relkind in ('r', 'p')`);
  const steps = runsInTransaction(migration) ? [migration.sql] : statementsOf(migration.sql);
  const locks: Lock[] = [];
  for (let step = steps.shift(); step !== undefined; step = steps.shift()) {
    if (isConcurrent(step)) {
      await client.query(step);
      continue;
    }
    await client.query('begin');
    const { rows } = (await client.query(step)) as { rows?: { statement?: string }[] }; // not of several
    locks.push(...(await locksHeld()));
    await client.query('commit');
    steps.unshift(...(rows ?? []).flatMap(({ statement }) => statement ?? []));
  }
  await client.query('drop table before');
  return locks;
}

async function locksHeld(): Promise<Lock[]> {
  const { rows } = await fixture.client.query<Lock>(
    `select coalesce(pg_partition_root(relation), relation)::regclass::text as table, mode,
            relkind = 'p' as partitioned
     from pg_locks join before on before.oid = relation join pg_class c on c.oid = relation
     where pid = pg_backend_pid() and mode not in ('AccessShareLock', 'RowShareLock')
       and relnamespace = 'public'::regnamespace`,
  );
  return rows;
}
