import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { databaseUrl, withClient } from './admin.ts';
import { adminDatabaseUrl, createTestDatabase, type TestDatabase } from './database.ts';
import { describeSchema } from './describe-schema.ts';

const emptyName = `described_${randomBytes(6).toString('hex')}`;
const emptyUrl = databaseUrl(adminDatabaseUrl(), emptyName);

let migrated: TestDatabase;
let schema: string;

beforeAll(async () => {
  migrated = await createTestDatabase();
  schema = await withClient(migrated.url, describeSchema);
  await asAdmin(`create database ${emptyName} template template0`);
});
afterAll(async () => {
  await asAdmin(`drop database ${emptyName} with (force)`);
  await migrated.drop();
});

async function asAdmin(sql: string): Promise<void> {
  await withClient(adminDatabaseUrl(), (admin) => admin.query(sql));
}

/** Describes the database after `sql`, and undoes `sql`. */
async function describedAfter(sql: string, url: string): Promise<string> {
  return withClient(url, async (client) => {
    await client.query('begin');
    await client.query(sql);
    try {
      return await describeSchema(client);
    } finally {
      await client.query('rollback');
    }
  });
}

const FUNCTION = 'create or replace function more() returns int language sql as $$select 1$$';

test('a schema’s description makes the same schema', async () => {
  expect(await describedAfter(schema, emptyUrl)).toBe(schema);
});

test('it describes tables, defaults, identity, partitions, storage parameters, indexes, types and foreign keys', () => {
  for (const line of [
    'CREATE SEQUENCE event_positions;',
    `CREATE TYPE key_kind AS ENUM ('live', 'test');`,
    'CREATE UNLOGGED TABLE rate_limits (',
    '  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,',
    '  due_at timestamp with time zone NOT NULL DEFAULT now(),',
    ') PARTITION BY RANGE (started_at);',
    'CREATE TABLE attempts_default PARTITION OF attempts DEFAULT;',
    'CREATE UNIQUE INDEX api_keys_digest ON api_keys USING btree (digest);',
    'fillfactor=70',
    'ALTER TABLE webhooks ADD CONSTRAINT webhooks_account_id_fkey FOREIGN KEY (account_id)',
  ]) {
    expect(schema).toContain(line);
  }
  expect(schema).not.toContain('_prisma_migrations');
});

test.each([
  ['a column', 'alter table events add column more text'],
  ['a default', `alter table events alter column data set default '{}'`],
  ['a requirement', 'alter table events alter column data drop not null'],
  ['an index', 'create index more on events (account_id)'],
  ['a function', FUNCTION],
  ['a sequence', 'create sequence more'],
  ['the users of a sequence', 'revoke usage on sequence event_positions from public'],
  ['a storage parameter', 'alter table events set (fillfactor = 50)'],
  ['a constraint', 'alter table events add constraint more check (id <> type)'],
  ['an enum label', `alter type key_kind add value 'more'`],
])('it changes with %s', async (_, change) => {
  expect(await describedAfter(change, migrated.url)).not.toBe(schema);
});

test.each([
  ['the body', FUNCTION.replace('select 1', 'select 2')],
  ['the settings', 'alter function more() set search_path = pg_catalog'],
  ['the rights', 'alter function more() security definer'],
  ['the users', 'revoke execute on function more() from public'],
])('it changes with %s of a function', async (_, change) => {
  const before = await describedAfter(FUNCTION, emptyUrl);
  const after = await describedAfter(`${FUNCTION};\n${change}`, emptyUrl);
  expect(after).not.toBe(before);
  expect(await describedAfter(after, emptyUrl)).toBe(after);
});

test.each([
  ['view', 'create view more as select 1 as n'],
  ['procedure', 'create procedure more() language sql as $$select 1$$'],
  ['aggregate', 'create aggregate more(int) (sfunc = int4pl, stype = int)'],
])('it refuses what it cannot describe: a %s', async (kind, sql) => {
  await expect(describedAfter(sql, emptyUrl)).rejects.toThrow(
    `no words for: ${kind === 'view' ? 'relation' : kind} more`,
  );
});
