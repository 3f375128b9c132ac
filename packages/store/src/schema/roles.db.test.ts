import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createTestDatabase, createTestRoles, openClient, withClient } from '@postrider/testing';
import type { TestDatabase, TestRoles } from '@postrider/testing';
import type { Client } from 'pg';
import { openMigrationFixture } from '../../test/migration-fixture.ts';
import { migrate } from './migrate.ts';
import { migrationFiles } from './migration-files.ts';
import { rightsOf } from './rights.ts';
import { makeRoles } from './roles.ts';
import type { Roles } from './roles.ts';

const SCHEMAS = ['public', 'bullmq'];
const DENIED = /permission denied|must be owner/;

let testRoles: TestRoles;
beforeEach(() => void (testRoles = createTestRoles()));

describe('the roles of a database', () => {
  let database: TestDatabase;
  let roles: Roles;
  let said: string[];
  const clients: Client[] = [];
  const make = () =>
    makeRoles(database.url, {
      prefix: testRoles.prefix,
      schemas: SCHEMAS,
      say: (line) => void said.push(line),
    });

  beforeEach(async () => {
    said = [];
    database = await createTestDatabase();
    roles = await make();
  });
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.end()));
    await database.drop();
    await testRoles.drop();
  });

  /** A connection of a new login that is a member of `role`. */
  async function connectAs(role: string): Promise<Client> {
    const login = await testRoles.login(`in role ${role}`);
    const client = await openClient(testRoles.url(database.url, login));
    clients.push(client);
    return client;
  }

  async function tables(): Promise<string[]> {
    const found = await database.query<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname in ('public', 'bullmq')
       order by 1`,
    );
    return found.map(({ name }) => name);
  }

  test('cannot log in, are no superusers, and own what there is', async () => {
    const made = await database.query(
      `select rolname, rolcanlogin, rolsuper, rolcreaterole, rolcreatedb, rolbypassrls from pg_roles
       where starts_with(rolname, $1) order by 1`,
      [testRoles.prefix],
    );
    const nothing = {
      rolcanlogin: false,
      rolsuper: false,
      rolcreaterole: false,
      rolcreatedb: false,
      rolbypassrls: false,
    };
    expect(made).toEqual(
      [roles.owner, roles.readOnly, roles.readWrite].map((rolname) => ({ rolname, ...nothing })),
    );
    const others = await database.query(
      `select c.oid::regclass::text from pg_class c where relnamespace in ('public'::regnamespace, 'bullmq'::regnamespace)
         and relowner <> $1::regrole
       union all
       select f.oid::regprocedure::text from pg_proc f
       where pronamespace in ('public'::regnamespace, 'bullmq'::regnamespace) and proowner <> $1::regrole
       union all
       select t.oid::regtype::text from pg_type t
       where typnamespace in ('public'::regnamespace, 'bullmq'::regnamespace) and typowner <> $1::regrole`,
      [roles.owner],
    );
    expect(others).toEqual([]);
    expect(said).toEqual([]);
  });

  test('are not changed by a second run', async () => {
    const state = () =>
      database.query(
        `select 'class' as what, oid, relowner as owner, relacl::text as acl from pg_class where relnamespace in ('public'::regnamespace, 'bullmq'::regnamespace)
         union all select 'proc', oid, proowner, proacl::text from pg_proc where pronamespace in ('public'::regnamespace, 'bullmq'::regnamespace)
         union all select 'default', oid, defaclrole, defaclacl::text from pg_default_acl
         union all select 'namespace', oid, nspowner, nspacl::text from pg_namespace where nspname in ('public', 'bullmq')
         union all select 'database', oid, datdba, datacl::text from pg_database where datname = current_database()
         union all select 'member', member, roleid, null from pg_auth_members
           where roleid in (select oid from pg_roles where starts_with(rolname, '${testRoles.prefix}'))
         order by 1, 2, 3`,
      );
    const before = await state();
    expect(await make()).toEqual(roles);
    expect(await state()).toEqual(before);
    expect(said).toEqual([]);
  });

  test('let processes change rows of every table, and change no table', async () => {
    const client = await connectAs(roles.readWrite);
    const all = await tables();
    for (const table of all) {
      await client.query(`select from ${table} limit 1`);
      const ledger = ['public._prisma_migrations', 'bullmq.migration'].includes(table);
      const deleted = client.query(`delete from ${table} where false`);
      if (ledger) await expect(deleted).rejects.toThrow(DENIED);
      else await deleted;
      for (const verb of ['drop table', 'truncate']) {
        await expect(client.query(`${verb} ${table}`)).rejects.toThrow(DENIED);
      }
      await expect(client.query(`alter table ${table} add column more int`)).rejects.toThrow(DENIED);
    }
    expect(all.length).toBeGreaterThan(40);
    for (const statement of [
      'create table public.more (n int)',
      'create table bullmq.more (n int)',
      'create schema more',
      'create function public.more() returns int language sql as $$select 1$$',
      'drop function public.drop_attempts_day',
      'alter function public.drop_attempts_day reset all',
      'create role more',
      `set role ${roles.owner}`,
    ]) {
      await expect(client.query(statement)).rejects.toThrow(DENIED);
    }
    expect(await rightsOf(client)).toMatchObject({ readsOnly: false, lacks: [] });
  });

  test('let people read every row, and write none', async () => {
    await database.query(`select make_attempts_day((now() at time zone 'utc')::date)`);
    // `pg_restore --no-privileges` leaves the default: everybody may execute functions.
    await database.query('grant execute on function make_attempts_day, drop_attempts_day to public');
    await make();
    const client = await connectAs(roles.readOnly);
    const all = await tables();
    expect(all).toContainEqual(expect.stringMatching(/^public.attempts_[0-9]{8}$/));
    for (const table of all) {
      await client.query(`select from ${table} limit 1`);
      const [column] = await database.query<{ name: string }>(
        `select quote_ident(attname) as name from pg_attribute where attrelid = '${table}'::regclass and attnum > 0
           and attidentity = '' limit 1`,
      );
      for (const change of [
        `insert into ${table} default values`,
        `update ${table} set ${column?.name} = ${column?.name} where false`,
        `delete from ${table} where false`,
        `truncate ${table}`,
        `select from ${table} limit 1 for share`,
        `drop table ${table}`,
      ]) {
        await expect(client.query(change)).rejects.toThrow(DENIED);
      }
    }
    for (const statement of [
      `select make_attempts_day((now() at time zone 'utc')::date + 1)`,
      `select drop_attempts_day('2026-01-01')`,
      `select nextval('bullmq.job_seq')`,
      'create table public.more (n int)',
    ]) {
      await expect(client.query(statement)).rejects.toThrow(DENIED);
    }
    expect(await rightsOf(client)).toMatchObject({ readsOnly: true });
  });

  test('are refused where a role of the name may change tables', async () => {
    await database.query(`grant ${roles.owner} to ${roles.readWrite}`);
    await expect(make()).rejects.toThrow(
      `${roles.readWrite} may change tables: it is a superuser or a member of ${roles.owner}`,
    );
  });

  test('are not made by a role that may not make roles', async () => {
    const login = await testRoles.login();
    const made = makeRoles(testRoles.url(database.url, login), {
      prefix: `${testRoles.prefix}_b`,
      schemas: SCHEMAS,
    });
    await expect(made).rejects.toThrow('permission denied to create role');
  });

  test('a role with rights on tables alone lacks what is missing, until it gets the role of the processes', async () => {
    const login = await testRoles.login();
    await database.query(`grant select, insert, update, delete on all tables in schema public to ${login}`);
    await database.query(`revoke update on accounts from ${login}`);
    await withClient(testRoles.url(database.url, login), async (client) => {
      expect(await rightsOf(client)).toEqual({
        role: login,
        readsOnly: false,
        lacks: ['update on accounts', 'execute on drop_attempts_day', 'execute on make_attempts_day'],
      });
      await database.query(`grant ${roles.readWrite} to ${login}`);
      expect(await rightsOf(client, { schemas: SCHEMAS })).toMatchObject({ lacks: [] });
    });
  });
});

describe('a managed database, whose first user is no superuser', () => {
  let fixture: Awaited<ReturnType<typeof openMigrationFixture>>;
  let first: string;

  beforeEach(async () => {
    fixture = await openMigrationFixture();
    for (const { name, sql } of migrationFiles()) fixture.write(name, sql);
    first = await testRoles.login('createrole');
    const { rows } = await fixture.client.query<{ name: string }>('select current_database() as name');
    await fixture.client.query(`alter database ${rows[0]?.name} owner to ${first}`);
    await migrate(testRoles.url(fixture.url, first));
  });
  afterEach(async () => {
    await fixture.close();
    await testRoles.drop();
  });

  const make = (login: string, say?: (line: string) => void) =>
    makeRoles(testRoles.url(fixture.url, login), {
      prefix: testRoles.prefix,
      schemas: ['public'],
      ...(say && { say }),
    });

  test('gets the roles from that user, whose processes keep their rights', async () => {
    const said: string[] = [];
    const { owner } = await make(first, (line) => void said.push(line));
    expect(said).toEqual([
      `${first} owned the tables, and is now a member of ${owner}`,
      `${owner} does not see the transactions of other roles: grant it pg_read_all_stats`,
    ]);
    await withClient(testRoles.url(fixture.url, first), async (client) => {
      expect(await rightsOf(client)).toMatchObject({ lacks: [] });
      await client.query('alter table accounts add column more int');
      await client.query(`select make_attempts_day((now() at time zone 'utc')::date)`);
    });
    await make(first);
  });

  test('is migrated by every member of the owner, who then owns what is new, and by no other role', async () => {
    const { owner, readWrite, readOnly } = await make(first);
    const member = await testRoles.login(`in role ${owner}`);
    const process = await testRoles.login(`in role ${readWrite}`);
    const migrated = (login: string) =>
      migrate(testRoles.url(fixture.url, login), { directory: fixture.directory });
    expect(await migrated(process)).toEqual([]);
    fixture.write('99999999999999_more', 'create table more (n int)');
    await expect(migrated(process)).rejects.toThrow(
      `the tables belong to the database role ${owner}: migrate as a member of it`,
    );
    expect(await migrated(member)).toEqual(['99999999999999_more']);
    const { rows } = await fixture.client.query(
      `select relowner::regrole::text as owner, has_table_privilege($1, oid, 'insert') as writes,
              has_table_privilege($2, oid, 'select') as reads, has_table_privilege($2, oid, 'insert') as too_much
       from pg_class where relname = 'more'`,
      [readWrite, readOnly],
    );
    expect(rows).toEqual([{ owner, writes: true, reads: true, too_much: false }]);
    await make(member);
  });
});
