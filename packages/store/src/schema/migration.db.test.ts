import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createTestRoles, waitFor, withClient } from '@postrider/testing';
import type { TestRoles } from '@postrider/testing';
import type { Client } from 'pg';
import { openMigrationFixture } from '../../test/migration-fixture.ts';
import type { MigrationFixture } from '../../test/migration-fixture.ts';
import { migrate } from './migrate.ts';
import { MIGRATE_LIMITS } from './migration-limits.ts';

const QUICK_TABLE = { tableLockMs: 100, tries: 3, pauseMs: 10 };
const QUICK = { ...MIGRATE_LIMITS, ...QUICK_TABLE, concurrentLockMs: 100 };

let fixture: MigrationFixture;
let said: string[];
let roles: TestRoles;
beforeEach(async () => {
  roles = createTestRoles();
  fixture = await openMigrationFixture();
  said = [];
  await fixture.client.query('create table busy (n integer)');
  await fixture.client.query('insert into busy select generate_series(1, 100)');
});
afterEach(async () => {
  await fixture.close();
  await roles.drop();
});

const migrated = (limits = QUICK) =>
  migrate(fixture.url, { directory: fixture.directory, limits, say: (line) => void said.push(line) });

async function ask<Row extends object>(sql: string): Promise<Row[]> {
  return (await fixture.client.query<Row>(sql)).rows;
}

/** A session with an open transaction, as a report or a dump has it. */
async function holding(sql: string): Promise<Client> {
  const holder = await fixture.connect();
  await holder.query('begin');
  await holder.query(sql);
  return holder;
}

const indexes = () =>
  ask<{ name: string; valid: boolean }>(
    `select indexrelid::regclass::text as name, indisvalid as valid from pg_index
     where indrelid = 'busy'::regclass order by 1`,
  );

describe('a lock on a table', () => {
  beforeEach(() => fixture.write('1_wider', 'alter table busy add column wide text'));

  test('is waited for 5 s at a time, 10 times', () => {
    expect(MIGRATE_LIMITS).toMatchObject({ tableLockMs: 5_000, tries: 10 });
  });

  test('that a transaction holds is tried for a bounded number of times; each wait is said, and nothing is left behind', async () => {
    const holder = await holding('select from busy');
    await expect(migrated()).rejects.toThrow(
      /^migration 1_wider did not get its lock within 0\.1 s \(the oldest transaction is that of process \d+ .*\), in 3 tries; run it again/,
    );
    expect(said).toEqual([
      expect.stringMatching(/^migration 1_wider did not get its lock .*; try 2 of 3 in 0\.01 s$/),
      expect.stringMatching(/try 3 of 3/),
    ]);
    await holder.query('rollback');
    expect(await migrated()).toEqual(['1_wider']);
  });

  test('that a transaction of another role holds is not called free: the message names its process, and a missing right', async () => {
    const login = await roles.login();
    await ask(`grant create on schema public to ${login}; alter table busy owner to ${login}`);
    const holder = await holding('select from busy');
    const { rows } = await holder.query<{ pid: number }>('select pg_backend_pid() as pid');
    const asLogin = () =>
      migrate(roles.url(fixture.url, login), { directory: fixture.directory, limits: QUICK });
    await expect(asLogin()).rejects.toThrow(
      new RegExp(
        `\\(in a transaction: .*process ${rows[0]?.pid} \\(no name\\).*; ${login} cannot see since when: grant it pg_read_all_stats\\), in 3 tries`,
      ),
    );
    await ask(`grant pg_read_all_stats to ${login}`);
    await expect(asLogin()).rejects.toThrow(`the oldest transaction is that of process ${rows[0]?.pid} `);
    await holder.query('rollback');
    expect(await asLogin()).toEqual(['1_wider']);
  });

  test('is told apart from a transaction of another role whose age the role may not see', async () => {
    const login = await roles.login();
    await ask(`grant create on schema public to ${login}; alter table busy owner to ${login}`);
    await holding('select 1');
    const url = roles.url(fixture.url, login);
    await withClient(url, async (holder) => {
      await holder.query('begin; select from busy');
      const { rows } = await holder.query<{ pid: number }>('select pg_backend_pid() as pid');
      await expect(migrate(url, { directory: fixture.directory, limits: QUICK })).rejects.toThrow(
        new RegExp(
          `\\(the oldest transaction is that of process ${rows[0]?.pid} .*; in a transaction: process `,
        ),
      );
    });
  });

  test('keeps statements of others waiting for one try only, and is had as soon as it is free', async () => {
    const holder = await holding('select from busy');
    const migrating = migrated({ ...QUICK, tries: 1_000 });
    await waitFor(() => said.length > 0, { what: 'the first try to be given up' });
    await ask('insert into busy values (0)');
    await holder.query('rollback');
    expect(await migrating).toEqual(['1_wider']);
  });
});

describe('a file that begins with `-- busy table`', () => {
  const WIDER = 'alter table busy add column wide text';
  const migratorWaits = async () =>
    (
      await ask(`select from pg_locks join pg_stat_activity using (pid)
                 where not granted and application_name = 'postrider-migrate'
                   and datname = current_database()`)
    ).length > 0;

  test.each(['-- busy table', '-- no transaction, busy table'])(
    'keeps statements of others waiting for less than 300 ms (%s)',
    async (header) => {
      fixture.write('1_wider', `${header}\n${WIDER}`);
      const holder = await holding('select from busy');
      await ask(`set lock_timeout = '300ms'`); // Postgres itself is the judge
      const migrating = migrated(MIGRATE_LIMITS);
      for (let tries = 0; tries < 2; tries += 1) {
        await waitFor(migratorWaits, { what: 'the migration to wait for the table' });
        await ask('insert into busy values (0)');
      }
      await holder.query('rollback');
      expect(await migrating).toEqual(['1_wider']);
    },
  );

  test('gives up after more tries, and says why', async () => {
    fixture.write('1_wider', `-- busy table\n${WIDER}`);
    await holding('select from busy');
    const limits = { ...QUICK, busyTable: { ...QUICK_TABLE, tries: 5 } };
    await expect(migrated(limits)).rejects.toThrow(
      /^migration 1_wider was not done within 0\.1 s .*, in 5 tries/,
    );
  });

  test('has so long for a whole statement, whatever that waits for, and tries again', async () => {
    fixture.write('1_slow', `-- busy table\n${WIDER}; select pg_sleep(60)`);
    const limits = { ...QUICK, busyTable: QUICK_TABLE };
    await expect(migrated(limits)).rejects.toThrow(
      /^migration 1_slow was not done within 0\.1 s .*, in 3 tries/,
    );
    await ask(WIDER); // nothing is left behind
  });

  test('gives no such limit to an index that is built beside the traffic, nor to the next file', async () => {
    const sleeping = `create function slow(n integer) returns integer immutable language plpgsql as
      $$ begin perform pg_sleep(0.005); return n; end $$`;
    await ask(sleeping);
    fixture.write(
      '1_index',
      '-- no transaction, busy table\ncreate index concurrently busy_n on busy (slow(n))',
    );
    fixture.write('2_slow', 'select pg_sleep(0.2)');
    const limits = { ...QUICK, busyTable: QUICK_TABLE };
    expect(await migrated(limits)).toEqual(['1_index', '2_slow']);
  });

  test('locks the table in the same message that commits', async () => {
    const slow = `do $$ begin perform pg_sleep(2); end $$`; // so that the lock is seen
    fixture.write('1_wider', `-- busy table\n${WIDER}; ${slow}`);
    const busyTable = { ...MIGRATE_LIMITS.busyTable, tableLockMs: 10_000 };
    const migrating = migrated({ ...MIGRATE_LIMITS, busyTable });
    const lockers = () =>
      ask<{ query: string }>(
        `select query from pg_stat_activity
         where application_name = 'postrider-migrate' and datname = current_database()
           and exists (select from pg_locks l where l.pid = pg_stat_activity.pid and relation = 'busy'::regclass)`,
      );
    const locker = await waitFor(async () => (await lockers())[0], { what: 'the table to be locked' });
    expect(locker.query).toContain('insert into _prisma_migrations');
    expect(await migrating).toEqual(['1_wider']);
  });

  test('interrupts an automatic vacuum, which gives way to one that waits for so long', async () => {
    fixture.write('1_seen', `create table seen as select current_setting('deadlock_timeout') as after`);
    await migrated();
    expect(await ask('select after from seen')).toEqual([{ after: '100ms' }]);
  });
});

describe('the lock that lets one migrator run', () => {
  beforeEach(() => fixture.write('1_first', 'create table first ()'));

  test('is waited for a bounded time, and the one that holds it is named', async () => {
    const other = await fixture.connect();
    await other.query('select pg_advisory_lock(72707369)');
    const { rows } = await other.query<{ pid: number }>('select pg_backend_pid() as pid');
    const holder = `Postgres process ${rows[0]?.pid}`;
    await expect(migrated({ ...QUICK, migrationLockMs: 500 })).rejects.toThrow(
      `${holder} has been migrating for over 0.5 s; run it again later`,
    );
    expect(said).toEqual([`${holder} is migrating: waiting for it, 0.5 s at most`]);
    await other.query('select pg_advisory_unlock(72707369)');
    expect(await migrated()).toEqual(['1_first']);
  });

  test('is waited for without a snapshot, which an index that is being built would wait for', async () => {
    fixture.write('2_index', '-- no transaction\ncreate index concurrently busy_n on busy (n)');
    const applied = await Promise.all([migrated(), migrated(), migrated()]);
    expect(applied.filter((names) => names.length > 0)).toEqual([['1_first', '2_index']]);
    expect(said.filter((line) => line.includes('did not get its lock'))).toEqual([]);
  });
});

describe('a file that begins with `-- no transaction`', () => {
  const INDEX = 'create index concurrently if not exists busy_n on busy (n)';

  test('runs as it is, statement by statement', async () => {
    fixture.write('1_index', `-- no transaction\n-- why\n${INDEX}; comment on index busy_n is 'a; b';`);
    expect(await migrated()).toEqual(['1_index']);
    expect(await indexes()).toEqual([{ name: 'busy_n', valid: true }]);
    expect(await migrated()).toEqual([]);
  });

  test('waits long for older transactions where it builds an index: nobody waits behind it', async () => {
    fixture.write('1_index', `-- no transaction\n${INDEX}`);
    const holder = await holding('update busy set n = 0');
    const migrating = migrated({ ...QUICK, concurrentLockMs: 1_000_000 });
    await waitFor(
      async () => (await ask(`select from pg_stat_activity where wait_event = 'virtualxid'`)).length === 1,
      { what: 'the index to wait for the transaction' },
    );
    await ask('insert into busy values (0)');
    await holder.query('commit');
    expect(await migrating).toEqual(['1_index']);
  });

  test('says what it builds when that takes long, and which migrations are applied by then', async () => {
    fixture.write('1_first', 'create table first ()');
    fixture.write('2_index', `-- no transaction\n${INDEX}`);
    const holder = await holding('update busy set n = 0');
    const applied: string[] = [];
    const migrating = migrate(fixture.url, {
      directory: fixture.directory,
      say: (line) => void said.push(line),
      onApplied: (name) => void applied.push(name),
    });
    await waitFor(() => said.length > 0, { what: 'the long statement to be said' });
    expect(said).toEqual([`migration 2_index runs or waits for older transactions: ${INDEX}`]);
    expect(applied).toEqual(['1_first']);
    await holder.query('commit');
    expect(await migrating).toEqual(applied);
    expect(applied).toEqual(['1_first', '2_index']);
  });

  test.each(['create index concurrently if not exists', 'create unique index concurrently'])(
    'can be repeated after a failure: an invalid index is dropped first (%s)',
    async (create) => {
      fixture.write('1_index', `-- no transaction\n${create} busy_n on busy (n)`);
      const holder = await holding('update busy set n = n');
      await expect(migrated()).rejects.toThrow('migration 1_index did not get its lock');
      expect(await indexes()).toEqual([{ name: 'busy_n', valid: false }]);
      expect(await ask('select from _prisma_migrations')).toEqual([]);
      await holder.query('commit');
      expect(await migrated()).toEqual(['1_index']);
      expect(await indexes()).toEqual([{ name: 'busy_n', valid: true }]);
    },
  );

  test('repeats no index that an earlier run has made', async () => {
    fixture.write('1_index', '-- no transaction\ncreate index concurrently busy_n on busy (n); select 1 / 0');
    await expect(migrated()).rejects.toThrow('migration 1_index failed');
    const [made] = await ask<{ oid: number }>(`select 'busy_n'::regclass::oid as oid`);
    fixture.write('1_index', '-- no transaction\ncreate index concurrently busy_n on busy (n); select 1');
    expect(await migrated()).toEqual(['1_index']);
    expect(await ask(`select 'busy_n'::regclass::oid as oid`)).toEqual([made]);
  });

  test('runs the statements that a query gives, each by itself, also again after a failure', async () => {
    await ask('create table busier (n integer)');
    const given = `select format('create index concurrently %I on %I (n)', name || '_n', name) as statement
                   from unnest(array['busy', 'busier']) name`;
    fixture.write('1_indexes', `-- no transaction\n${given}; select 1 / 0`);
    await expect(migrated()).rejects.toThrow('migration 1_indexes failed');
    fixture.write('1_indexes', `-- no transaction\n${given}; select 1 as n`);
    expect(await migrated()).toEqual(['1_indexes']);
    expect(
      await ask(`select to_regclass('busy_n') is not null and to_regclass('busier_n') is not null as made`),
    ).toEqual([{ made: true }]);
  });

  test('that fails is not recorded, and its fault is in the message and the cause', async () => {
    fixture.write('1_index', '-- no transaction\nselect 1 / 0');
    await expect(migrated()).rejects.toMatchObject({
      message: 'migration 1_index failed: division by zero',
      cause: expect.objectContaining({ message: 'division by zero' }),
    });
    expect(await ask('select from _prisma_migrations')).toEqual([]);
  });
});
