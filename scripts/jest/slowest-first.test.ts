import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { expect, test } from '@jest/globals';

const require = createRequire(import.meta.url);
const { SLOWEST } = require('./slowest-first.cjs') as { readonly SLOWEST: readonly string[] };

test('each entry of the list of slowest files names a test file', () => {
  const cwd = join(import.meta.dirname, '../..');
  const listed = execFileSync('git', ['ls-files', '*.test.ts'], { cwd, encoding: 'utf8', timeout: 60_000 });
  const names = listed.split('\n').map((path) => basename(path));
  expect(SLOWEST.length).toBeGreaterThan(10);
  expect(SLOWEST.filter((slow) => !names.some((name) => name.startsWith(slow)))).toEqual([]);
});
