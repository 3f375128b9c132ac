import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { forEveryProcess } from '../packages/testing/src/system/for-every-process.ts';

test('a script that is called by a symbolic link runs', () => {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-link-'));
  const link = join(folder, 'run.mjs');
  symlinkSync(fileURLToPath(new URL('run.mjs', import.meta.url)), link);
  const { status, stderr } = spawnSync(process.execPath, [link], { encoding: 'utf8' });
  rmSync(folder, { recursive: true });
  expect({ status, stderr }).toEqual({ status: 2, stderr: 'usage: node scripts/run.mjs APP [ARGUMENTS]\n' });
});

test.each([
  ['the check of the prose', 'check-prose.mjs', ''],
  ['npm test', 'test.mjs', '0 passed, 1 failed, 0 skipped\n'],
])('outside a git clone, %s says in one line what it needs', (_what, name, last) => {
  const script = fileURLToPath(new URL(name, import.meta.url));
  const env = { ...forEveryProcess(), GIT_DIR: '/nonexistent' };
  const { status, stdout, stderr } = spawnSync(process.execPath, [script], {
    env,
    encoding: 'utf8',
    timeout: 60_000,
  });
  expect({ status, stdout }).toEqual({ status: 1, stdout: last });
  expect(stderr).toMatch(
    /^(\[setup\] )?a git clone that belongs to you is needed: fatal: not a git repo.*\n$/,
  );
});

(spawnSync('git', ['--version']).status === 0 ? test : test.skip)(
  'with the settings of Git for Windows, a checkout has the line ends of the repository',
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'postrider-git-'));
    cpSync(new URL('../.gitattributes', import.meta.url), join(folder, '.gitattributes'));
    const contents = { 'a.sql': '-- no transaction\n', 'b.eml': 'a: b\r\n\r\nc\n', 'c.png': '\0\n' };
    for (const [name, content] of Object.entries(contents)) writeFileSync(join(folder, name), content);
    const env = forEveryProcess(); // leaves out the GIT_DIR of a git hook, which names this repository
    const git = (...args: string[]) =>
      spawnSync('git', ['-c', 'core.autocrlf=true', ...args], { cwd: folder, env, encoding: 'utf8' });
    git('init');
    git('add', '.');
    for (const name of Object.keys(contents)) rmSync(join(folder, name));
    expect(git('checkout', '.')).toMatchObject({ status: 0 });
    for (const [name, content] of Object.entries(contents)) {
      expect([name, readFileSync(join(folder, name), 'utf8')]).toEqual([name, content]);
    }
    rmSync(folder, { recursive: true });
  },
);
