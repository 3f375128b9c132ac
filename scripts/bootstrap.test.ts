import { spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { forEveryProcess } from '../packages/testing/src/system/for-every-process.ts';

/** An npx that installs a Prisma, which makes an empty client. A step named by BREAKS kills the set-up. */
const NPX = `
const { mkdirSync, writeFileSync } = require('node:fs');
const step = (name) => \`
  require('node:fs').appendFileSync('steps', '\${name}\\\\n');
  if (process.env.BREAKS === '\${name}') process.kill(process.ppid, 'SIGKILL');\`;
writeFileSync('arguments', process.argv.slice(2).join(' '));
mkdirSync('node_modules/prisma/build', { recursive: true });
writeFileSync(
  'node_modules/prisma/build/index.js',
  step('generate') + "require('node:fs').mkdirSync('packages/store/src/generated', { recursive: true });",
);
eval(step('install'));`;

/** An npm that installs a Node, which only writes that it ran. */
const NPM = `
const { mkdirSync, writeFileSync } = require('node:fs');
const draft = process.argv[process.argv.indexOf('--prefix') + 1];
const [name] = process.argv.at(-1).split('@');
const folder = \`\${draft}/node_modules/\${name}/bin\`;
mkdirSync(folder, { recursive: true });
if (process.env.BREAKS === 'node') process.kill(process.ppid, 'SIGKILL');
writeFileSync(\`\${folder}/node\`, '#!/bin/sh\\necho ran >> steps', { mode: 0o755 });`;

let root: string;

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'postrider-bootstrap-')));
  for (const name of ['bootstrap', 'lock', 'node', 'setup-command', 'workspace']) {
    cpSync(fileURLToPath(new URL(`${name}.mjs`, import.meta.url)), join(root, 'scripts', `${name}.mjs`));
  }
  mkdirSync(join(root, 'npm'));
  write('npm/npx-cli.js', NPX);
  write('npm/npm-cli.js', NPM);
  write('package.json', '{ "packageManager": "pnpm@1" }');
  write('pnpm-workspace.yaml', 'packages: [apps]\n');
});
afterEach(() => rmSync(root, { recursive: true }));

function write(file: string, content: string): void {
  writeFileSync(join(root, file), content);
}

/** Runs bootstrap.mjs. `breaks`: the step in which the set-up is killed. @returns the steps that began */
function bootstrap({ breaks = '', node = [] as string[] } = {}): string[] {
  write('steps', '');
  const { signal, status, stderr } = spawnSync(process.execPath, [...node, 'scripts/bootstrap.mjs'], {
    cwd: root,
    encoding: 'utf8',
    env: {
      BREAKS: breaks,
      npm_execpath: join(root, 'npm', 'npm-cli.js'),
      npm_node_execpath: process.execPath,
      ...forEveryProcess(),
    },
  });
  const killed = breaks !== '';
  expect({ signal, status, stderr }).toMatchObject(killed ? { signal: 'SIGKILL' } : { status: 0 });
  return readFileSync(join(root, 'steps'), 'utf8').split('\n').filter(Boolean);
}

test('a second run does nothing', () => {
  expect(bootstrap()).toEqual(['install', 'generate']);
  expect(bootstrap()).toEqual([]);
});

test('npx fetches pnpm with its optional program, also where .npmrc omits optional packages', () => {
  bootstrap();
  const given = readFileSync(join(root, 'arguments'), 'utf8');
  expect(given).toBe('-y --include=optional pnpm@1 install --frozen-lockfile');
});

test('an install by npm is repeated by pnpm', () => {
  bootstrap();
  write('node_modules/.package-lock.json', '{}');
  expect(bootstrap()).toEqual(['install', 'generate']);
  expect(bootstrap()).toEqual([]);
});

test('an install that broke off on another branch is repeated on this one', () => {
  write('pnpm-lock.yaml', 'one branch');
  bootstrap();
  write('pnpm-lock.yaml', 'another');
  expect(bootstrap({ breaks: 'install' })).toEqual(['install']);
  write('pnpm-lock.yaml', 'one branch');
  expect(bootstrap()).toEqual(['install', 'generate']);
});

test('a database client that broke off on another branch is generated again on this one', () => {
  mkdirSync(join(root, 'prisma'));
  write('prisma/schema.prisma', 'one branch');
  bootstrap();
  write('prisma/schema.prisma', 'another');
  expect(bootstrap({ breaks: 'generate' })).toEqual(['generate']);
  write('prisma/schema.prisma', 'one branch');
  expect(bootstrap()).toEqual(['generate']);
});

test('a damaged state file counts as none', () => {
  bootstrap();
  write('node_modules/.setup.json', '');
  expect(bootstrap()).toEqual(['install', 'generate']);
});

test('on Windows the set-up prints one line and ends with exit code 1', () => {
  write('windows.cjs', `Object.defineProperty(process, 'platform', { value: 'win32' })`);
  const node = ['--require', './windows.cjs', 'scripts/bootstrap.mjs'];
  const { status, stderr } = spawnSync(process.execPath, node, { cwd: root, encoding: 'utf8' });
  const line =
    '[setup] Windows cannot run Postrider: use WSL 2, with the checkout in its own file system, not below /mnt';
  expect({ status, stderr }).toEqual({ status: 1, stderr: `${line}\n` });
});

test('an install of Node removes what an install that broke off has left', () => {
  write('old.cjs', `Object.defineProperty(process.versions, 'node', { value: '20.0.0' })`);
  const node = ['--require', './old.cjs'];
  bootstrap({ breaks: 'node', node });
  expect(bootstrap({ node })).toEqual(['ran']);
  expect(readdirSync(join(root, '.node'))).toEqual([expect.stringMatching(/^node-.*@[\d.]+$/)]);
});
