import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { waitFor } from '@postrider/testing';
import { openMigrationFixture } from '../../test/migration-fixture.ts';
import type { MigrationFixture } from '../../test/migration-fixture.ts';
import { migrate } from './migrate.ts';
import { migrationFiles } from './migration-files.ts';
import { MIGRATE_LIMITS } from './migration-limits.ts';

/** Behind the migrations that the last release knows. */
const NEXT = '20261124130000';
const QUICK = { ...MIGRATE_LIMITS, tableLockMs: 200, pauseMs: 10, tries: 1_000 };

let fixture: MigrationFixture;
beforeEach(async () => void (fixture = await openMigrationFixture()));
afterEach(() => fixture.close());

async function migrated(): Promise<string[]> {
  return migrate(fixture.url, { directory: fixture.directory, limits: QUICK });
}

test('a transaction that changes a domain, as the last release does, survives the migrations', async () => {
  const files = migrationFiles();
  for (const { name, sql } of files.filter(({ name }) => name < NEXT)) fixture.write(name, sql);
  await migrated();
  const { client } = fixture;
  await client.query(`insert into accounts (id, name) values ('acct_1', 'Acme')`);
  const insert = (name: string) =>
    client.query(
      `insert into domains (id, account_id, name, region, status, records, created_at)
       values ($1, 'acct_1', $1, 'r', 'pending', '[]', now())`,
      [name],
    );
  await insert('old.example');
  for (const { name, sql } of files.filter(({ name }) => name >= NEXT)) fixture.write(name, sql);

  await client.query(`set deadlock_timeout = '10ms'`);
  await client.query('begin');
  await client.query(`select from accounts where id = 'acct_1' for no key update`);
  const watch = await fixture.connect();
  const migrating = migrated();
  await waitFor(
    async () =>
      (
        await watch.query(
          `select from pg_stat_activity
           where application_name = 'postrider-migrate' and datname = current_database() and wait_event_type = 'Lock'`,
        )
      ).rowCount === 1,
    { what: 'a migration to wait for the account' },
  );
  await client.query(`update domains set status = 'failed' where name = 'old.example'`);
  await client.query('commit');
  await migrating;
  await insert('new.example');
  const { rows } = await client.query(
    'select name, claimed_at is not null as claimed from domains order by name',
  );
  expect(rows).toEqual([
    { name: 'new.example', claimed: true },
    { name: 'old.example', claimed: false },
  ]);
});
