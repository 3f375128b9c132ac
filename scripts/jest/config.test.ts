import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const ROOT = join(import.meta.dirname, '../..');
const OWN_TESTS = ['apps', 'packages', 'e2e', 'bench', 'scripts'].map((folder) => `${folder}/own.test.ts`);

test.each(['dist/x [1]', 'b!c', 'node (2)/.data'])('in checkout %s, Jest finds only our tests', (name) => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'postrider-jest-')));
  const root = join(folder, name);
  cpSync(import.meta.dirname, join(root, 'scripts/jest'), {
    recursive: true,
    filter: (path) => !path.endsWith('.test.ts'),
  });
  cpSync(join(ROOT, 'jest.config.mjs'), join(root, 'jest.config.mjs'));
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  for (const file of [...OWN_TESTS, 'dist/other.test.ts', '.data/other.test.ts']) {
    mkdirSync(join(root, file, '..'), { recursive: true });
    writeFileSync(join(root, file), '');
  }
  const jest = join(ROOT, 'node_modules/jest/bin/jest.js');
  const { stdout, stderr } = spawnSync(process.execPath, [jest, '--listTests'], {
    cwd: root,
    encoding: 'utf8',
  });
  rmSync(folder, { recursive: true });
  expect(stderr).toBe('');
  expect(stdout.trim().split('\n').sort()).toEqual(OWN_TESTS.map((file) => join(root, file)).sort());
});
