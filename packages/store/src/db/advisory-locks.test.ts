import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const SQL = ['prisma/schema.sql', '{packages,apps}/*/src/**/*.ts'];
/** The migrator's own. */
const ALLOWED = ['pg_try_advisory_lock($1)'];

/** Calls with one argument that is no hash. */
const CONSTANT =
  /\bpg_(?:try_)?advisory_(?:xact_)?lock(?:_shared)?\((?!hashtextextended\()(?:\([^()]*\)|[^(),])*\)/g;

const constantsOf = (sql: string): string[] => sql.match(CONSTANT) ?? [];

test('no lock of one bigint is a constant: a hashed key of a customer could take it', () => {
  const files = globSync(SQL, { cwd: ROOT }).filter((path) => !/\.test\.ts$|[\\/]generated[\\/]/.test(path));
  expect(files.length).toBeGreaterThan(100);
  expect(files.flatMap((path) => constantsOf(readFileSync(ROOT + path, 'utf8')))).toEqual(ALLOWED);
});

test.each([
  ['pg_try_advisory_xact_lock_shared((72707371)::bigint)', 1],
  ['pg_advisory_xact_lock(72707370)', 1],
  ['pg_advisory_lock_shared(72707372, $1)', 0],
  ["pg_advisory_xact_lock(hashtextextended('a' || $1, 0))", 0],
])('%s is found out: %d', (sql, found) => {
  expect(constantsOf(sql)).toHaveLength(found);
});
