import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';

// Imported by its URL, because TypeScript has no types of a script.
const script = new URL('node.mjs', import.meta.url).href;
const { isRecent, NODE_FLOOR, NODE_PACKAGES } = (await import(script)) as {
  isRecent: (version: string) => boolean;
  NODE_FLOOR: readonly number[];
  NODE_PACKAGES: Readonly<Record<string, string>>;
};

test.each([
  ['18.20.8', false],
  ['20.20.2', false],
  ['22.18.0', false],
  ['22.19.0', true],
  ['24.0.0', true],
])('Node %s runs the scripts itself: %s', (version, expected) => {
  expect(isRecent(version)).toBe(expected);
});

test('engines in package.json names the same floor', () => {
  const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    engines: { node: string };
  };
  expect(engines.node).toBe(`>=${NODE_FLOOR.join('.')}`);
});

/** The floor is Node 22.19. 40 packages of the lockfile have the engines `^22.18.0 || >=24.11.0`. */
const MINOR_MIN: Readonly<Record<string, number>> = { 22: 19, 24: 11 };

test.each(Object.values(NODE_PACKAGES))('%s runs every package of the lockfile', (name) => {
  const [, major = '', minor = ''] = /@(\d+)\.(\d+)\./.exec(name) ?? [];
  expect(Number(minor)).toBeGreaterThanOrEqual(MINOR_MIN[major] ?? Infinity);
});

/** Starts a process that runs itself again with this Node. The first process runs `first`, the second `work`. */
function runningAgain(work: string, first = '') {
  const code = `
    import { runAgain } from ${JSON.stringify(script)};
    if (process.env.AGAIN === undefined) {
      process.env.AGAIN = 'yes';
      ${first}
      process.argv.splice(1, 0, '--input-type=module', '--eval', ${JSON.stringify(work)});
      await runAgain(process.execPath);
    }`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  return { child, ended };
}

test('the exit code of the newer Node is the exit code of the script', async () => {
  expect(await runningAgain('process.exit(7)').ended).toEqual([7, null]);
});

test('an empty npm_config_globalconfig counts as not set', async () => {
  const work = `process.exit(process.env.npm_config_globalconfig.endsWith('npmrc') ? 0 : 1)`;
  expect(await runningAgain(work, `process.env.npm_config_globalconfig = ''`).ended).toEqual([0, null]);
});

test.each([
  ['the one of npm', '/npm/node', '/npm/node'],
  ['the older one when npm did not start it', '', process.execPath],
])('the newer Node knows the Node that runs npm: %s', async (_which, given, expected) => {
  const work = `process.exit(process.env.npm_node_execpath === ${JSON.stringify(expected)} ? 0 : 1)`;
  const first = `process.env.npm_node_execpath = ${JSON.stringify(given)}`;
  expect(await runningAgain(work, first).ended).toEqual([0, null]);
});

test('a Node that this machine cannot run ends the script with one line and exit code 1', async () => {
  const code = `
    import { runAgain } from ${JSON.stringify(script)};
    import { exitOnSetupError } from ${JSON.stringify(new URL('setup-command.mjs', import.meta.url).href)};
    await exitOnSetupError(() => runAgain('/nonexistent/node'));`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], {
    stdio: ['ignore', 'inherit', 'pipe'],
  });
  const [ended, errors] = await Promise.all([once(child, 'exit'), text(child.stderr)]);
  expect(ended).toEqual([1, null]);
  expect(errors).toBe('[setup] /nonexistent/node does not run here (ENOENT): install Node 22.19 or newer\n');
});

test('a signal to the older Node reaches the newer one, and its exit code is the result', async () => {
  const { child, ended } = runningAgain(`
    process.on('SIGTERM', () => process.exit(3));
    setInterval(() => {}, 1000);
    process.stdout.write('ready');`);
  await once(child.stdout, 'data');
  child.kill('SIGTERM');
  expect(await ended).toEqual([3, null]);
});

test('the older Node ends by the signal that ended the newer one', async () => {
  expect(await runningAgain(`process.kill(process.pid, 'SIGKILL')`).ended).toEqual([null, 'SIGKILL']);
});
