import { expect, test } from '@jest/globals';
import { keptIn } from './summary.ts';

test.each([
  ['/a/.data', undefined, '/a/.data'],
  ['/a/.data', '/a/.data/postgres', '/a/.data'],
  ['/a/.data', '/var/lib/postrider-0123/postgres', '/a/.data and /var/lib/postrider-0123'],
])('the data of %s, with Postgres in %s, stay in %s', (dataDir, databaseDir, expected) => {
  expect(keptIn(dataDir, databaseDir)).toBe(expected);
});
