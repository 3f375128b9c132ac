import { expect, test } from '@jest/globals';
import { concurrentIndexOf, isConcurrent, statementsOf } from './migration-statements.ts';

test('a file is split at the semicolons that end its statements, and at no others', () => {
  const sql = `-- no transaction
    -- why; at length
    create table a (b text default ';''', "c;" text /* ; */);
    do $$ begin perform 1; end $$;;
    do $body$ begin perform '$$;'; end $body$; -- over;
    select $1; select 2
    -- the end;`;
  expect(statementsOf(sql)).toEqual([
    `create table a (b text default ';''', "c;" text /* ; */)`,
    'do $$ begin perform 1; end $$',
    `do $body$ begin perform '$$;'; end $body$`,
    'select $1',
    'select 2\n    -- the end;',
  ]);
  expect(statementsOf('-- no transaction\n')).toEqual([]);
});

test.each([
  ['create index concurrently a on b (c)', 'a'],
  ['CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS public.a\n  ON b (c)', 'public.a'],
  ['create index concurrently "a b" on only b (c)', '"a b"'],
])('the index that is made beside the traffic is known by its name: %s', (statement, name) => {
  expect(concurrentIndexOf(statement)).toBe(name);
  expect(isConcurrent(statement)).toBe(true);
});

test.each(['drop index concurrently a', 'reindex index concurrently a'])(
  'waits for others without keeping them waiting, and makes no index: %s',
  (statement) => {
    expect(concurrentIndexOf(statement)).toBeNull();
    expect(isConcurrent(statement)).toBe(true);
  },
);

test.each(['create index a on b (c)', 'drop index a', `insert into a values ('concurrently')`])(
  'keeps others waiting: %s',
  (statement) => {
    expect(concurrentIndexOf(statement)).toBeNull();
    expect(isConcurrent(statement)).toBe(false);
  },
);
