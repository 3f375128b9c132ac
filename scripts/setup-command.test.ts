import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';

// Imported by its URL, because TypeScript has no types of a script.
const { during, npmTool, run, SetupError } = (await import(
  new URL('setup-command.mjs', import.meta.url).href
)) as {
  during: <T>(words: string, work: () => Promise<T>) => Promise<T>;
  npmTool: (
    name: string,
    args: readonly string[],
    env: Readonly<Record<string, string>>,
  ) => [command: string, args: string[]];
  run: (command: string, args: readonly string[], options: { stdio: 'ignore' }) => Promise<void>;
  SetupError: new (message: string) => Error;
};

beforeEach(() => void jest.useFakeTimers());
afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

test('a step of the set-up is named at once, and again every 2.5 seconds', async () => {
  const lines: unknown[] = [];
  jest.spyOn(process.stderr, 'write').mockImplementation((line) => lines.push(line) > 0);
  const step = Promise.withResolvers<number>();
  const result = during('building the programs', () => step.promise);
  expect(lines).toEqual(['[setup] building the programs\n']);
  jest.advanceTimersByTime(5_000);
  expect(lines.slice(1)).toEqual([
    '[setup] still at it: building the programs\n',
    '[setup] still at it: building the programs\n',
  ]);
  step.resolve(7);
  expect(await result).toBe(7);
  jest.advanceTimersByTime(10_000);
  expect(lines).toHaveLength(3);
});

test('a command that does not exist is a SetupError', async () => {
  jest.useRealTimers();
  const words = new SetupError('no-such-command does not run here (ENOENT)');
  await expect(run('no-such-command', [], { stdio: 'ignore' })).rejects.toEqual(words);
});

/** A folder that has npm's programs in `lib` and a link to npm in `bin`. */
let npmFolder: string;
beforeEach(() => {
  npmFolder = realpathSync(mkdtempSync(join(tmpdir(), 'postrider-npm-')));
  for (const name of ['lib', 'bin']) mkdirSync(join(npmFolder, name));
  for (const name of ['npm', 'npx']) writeFileSync(join(npmFolder, 'lib', `${name}-cli.js`), '');
  symlinkSync(join(npmFolder, 'lib', 'npm-cli.js'), join(npmFolder, 'bin', 'npm'));
});
afterEach(() => rmSync(npmFolder, { recursive: true }));

test.each([
  ['the npm that started us', () => ({ npm_execpath: join(npmFolder, 'lib', 'npm-cli.js') })],
  ['the npm on PATH', () => ({ PATH: join(npmFolder, 'bin') })],
])('npx of %s runs with the Node of npm', (_which, environment) => {
  const env = { ...environment(), npm_node_execpath: '/old/node' };
  expect(npmTool('npx', ['pnpm'], env)).toEqual([
    '/old/node',
    [join(npmFolder, 'lib', 'npx-cli.js'), 'pnpm'],
  ]);
});

test('without npm, and without an older Node, npx is the one on PATH with the Node on PATH', () => {
  expect(npmTool('npx', ['pnpm'], { PATH: join(npmFolder, 'bin') })).toEqual(['npx', ['pnpm']]);
});
