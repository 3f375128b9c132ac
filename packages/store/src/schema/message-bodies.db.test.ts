import { expect, test } from '@jest/globals';
import { setupStore } from '../../test/open-store.ts';
import { migrationFiles } from './migration-files.ts';
import { statementsOf } from './migration-statements.ts';

/* The Postgres that the tests start has no lz4: of one that has, they see what it would be asked. */

const NAME = '20261125003000_message_bodies';

const store = setupStore();

test('bodies of received mail are compressed by lz4 where Postgres has it', async () => {
  const [settings] = await store.outside.query<{ lz4: boolean }>(
    `select 'lz4' = any (enumvals) as lz4 from pg_settings where name = 'default_toast_compression'`,
  );
  const columns = await store.outside.query(
    `select attname as name, attcompression as compression from pg_attribute
     where attrelid = 'messages'::regclass and attname in ('text', 'html') order by attname`,
  );
  const compression = settings?.lz4 === true ? 'l' : '';
  expect(columns).toEqual(['html', 'text'].map((name) => ({ name, compression })));
});

test.each([
  ['pglz', []],
  [
    'pglz,lz4',
    ['alter table messages alter column text set compression lz4, alter column html set compression lz4'],
  ],
])('a Postgres that compresses by %s is asked for no more than it has', async (methods, asked) => {
  const [sql = '', ...more] = statementsOf(migrationFiles().find(({ name }) => name === NAME)?.sql ?? '');
  expect(more).toEqual([]);
  const client = await store.db.pool.connect();
  try {
    await client.query(
      `create or replace temporary view pg_settings as
       select 'default_toast_compression' as name, '{${methods}}'::text[] as enumvals`,
    );
    await client.query('set search_path = pg_temp, public, pg_catalog'); // the view, not that of the server
    const { rows } = await client.query<{ statement: string }>(sql);
    expect(rows.map(({ statement }) => statement)).toEqual(asked);
  } finally {
    client.release(true);
  }
});
