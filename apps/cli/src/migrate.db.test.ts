import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createTestDatabase, createTestRoles } from '@postrider/testing';
import type { TestDatabase, TestRoles } from '@postrider/testing';
import { cliOn, runInProcess } from '../test/run-in-process.ts';

let database: TestDatabase;
beforeEach(async () => void (database = await createTestDatabase()));
afterEach(() => database.drop());

const { cli, json } = cliOn(() => database.url);

describe('migrate', () => {
  test('names the applied migrations; a second run applies none', async () => {
    await database.query('drop schema public cascade');
    await database.query('drop schema bullmq cascade');
    await database.query('create schema public');
    const first = await json<{ applied: string[]; queue_migrated: boolean }>('migrate');
    expect(first).toEqual({ applied: expect.arrayContaining([expect.any(String)]), queue_migrated: true });
    expect(await json('migrate')).toEqual({ applied: [], queue_migrated: false });
    expect((await cli('migrate')).stdout).toBe('the database is up to date\n');
    expect(await json('status', '--stopped')).toMatchObject({ ok: true, migrations: { pending: [] } });
  });

  test('that fails has named what it applied before', async () => {
    await database.query('drop schema public cascade');
    await database.query('create schema public create table topics ()');
    const { code, stdout, stderr } = await cli('migrate');
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^postrider: migration \d+_\w+ failed: relation "topics" already exists/),
    });
    const applied = await database.query<{ line: string }>(
      `select 'applied ' || migration_name as line from _prisma_migrations order by migration_name`,
    );
    expect(applied).not.toEqual([]);
    expect(stdout).toBe(applied.map(({ line }) => `${line}\n`).join(''));
  });

  test('every other command refuses a database that lacks migrations, and status names them', async () => {
    await database.query('delete from _prisma_migrations');
    const refused = await cli('account', 'create', '--name', 'x', '--json');
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(
      /^postrider: the database lacks \d+ migrations; run `npm run migrate` first, in an image `node dist\/cli.js migrate`\n$/,
    );
    const status = await cli('status', '--json');
    expect(status.code).toBe(1);
    expect(JSON.parse(status.stdout)).toMatchObject({
      failing: null,
      ok: false,
      postgres: { reachable: true },
      migrations: { pending: expect.arrayContaining([expect.any(String)]) },
      faults: [refused.stderr.replace('postrider: ', '').trim()],
    });
    expect((await cli('status')).stdout).toMatch(/migrations +\d+ missing\n/);
  });
});

describe('migrate --roles', () => {
  let roles: TestRoles;
  beforeEach(() => void (roles = createTestRoles()));
  afterEach(async () => {
    await database.drop();
    await roles.drop();
  });

  const as = async (attributes: string, ...args: string[]) =>
    runInProcess(args, { DATABASE_URL: roles.url(database.url, await roles.login(attributes)) });

  test('makes three roles, names them, and may run again', async () => {
    const made = {
      owner: `${roles.prefix}_owner`,
      readwrite: `${roles.prefix}_readwrite`,
      readonly: `${roles.prefix}_readonly`,
    };
    expect(await json('migrate', '--roles', roles.prefix)).toEqual({
      applied: [],
      queue_migrated: false,
      roles: made,
    });
    expect(await cli('migrate', '--roles', roles.prefix)).toEqual({
      code: 0,
      stdout: `the database is up to date\nthe roles ${made.owner}, ${made.readwrite} and ${made.readonly} have their rights\n`,
      stderr: '',
    });
    expect(await as(`in role ${made.owner}`, 'migrate')).toMatchObject({ code: 0 });
  });

  test('refuses a prefix that is no plain name', async () => {
    for (const prefix of ['Postrider', 'a-b', 'a"; drop table accounts; --', '1a', 'a'.repeat(51)]) {
      expect(await cli('migrate', '--roles', prefix)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('It has lower-case letters, digits and _'),
      });
    }
  });

  test('status works with each role, and tells what it may do', async () => {
    await cli('migrate', '--roles', roles.prefix);
    for (const [role, access, words] of [
      ['readonly', 'read', 'only reads'],
      ['readwrite', 'all', 'has the rights of a process'],
      ['owner', 'all', 'has the rights of a process'],
    ] as const) {
      const member = `in role ${roles.prefix}_${role}`;
      const { code, stdout, stderr } = await as(member, 'status', '--stopped', '--json');
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(JSON.parse(stdout)).toMatchObject({
        ok: true,
        queue: { depth: { fast: { waiting: 0 } } },
        database_role: { access },
      });
      expect((await as(member, 'status')).stdout).toMatch(new RegExp(`database role +\\S+: ${words}\n`));
    }
  });

  test('a role that may only change rows is told what it lacks', async () => {
    const login = await roles.login();
    await database.query(`grant usage on schema bullmq to ${login};
      grant select, insert, update, delete on all tables in schema public, bullmq to ${login}`);
    const { code, stderr } = await runInProcess(['status', '--stopped'], {
      DATABASE_URL: roles.url(database.url, login),
    });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr:
        `postrider: the database role ${login} lacks execute on drop_attempts_day, execute on make_attempts_day; ` +
        '`postrider migrate --roles` makes a role that has them\n',
    });
  });

  test('a command that writes says that its role may not', async () => {
    await cli('migrate', '--roles', roles.prefix);
    const member = `in role ${roles.prefix}_readonly`;
    expect(await as(member, 'account', 'list')).toMatchObject({ code: 0 });
    expect(await as(member, 'account', 'create', '--name', 'x')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^postrider: .*permission denied for table accounts.*\n$/),
    });
  });
});
