import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import {
  createRows,
  createTestDatabase,
  DIST,
  endsWithUs,
  runNode,
  setup,
  startFaultProxy,
} from '@postrider/testing';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

const database = setup(createTestDatabase, (opened) => opened.drop());

/** `npm run --silent postrider -- ARGS` without npm. */
const postrider = (args: readonly string[], env: Readonly<Record<string, string>>) =>
  runNode(['scripts/run.mjs', 'cli', ...args], {
    cwd: ROOT,
    env: { POSTRIDER_DATA_DIR: '/nonexistent', ...env },
  });

const onDatabase = (...args: string[]) => postrider(args, { DATABASE_URL: database.url });

describe('postrider, as a process', () => {
  test('--json is exactly one document on stdout, stderr is silent, and the exit code is 0', async () => {
    const made = await onDatabase('account', 'create', '--name', 'Acme', '--json');
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(made.stdout)).toEqual({ id: expect.stringMatching(/^acct_/), name: 'Acme' });
  });

  test('a failure ends with 1, and with one line on stderr', async () => {
    const away = { DATABASE_URL: 'postgres://nobody:secret@127.0.0.1:1/none' };
    expect(await postrider(['account', 'create', '--name', 'x', '--json'], away)).toEqual({
      code: 1,
      stdout: '',
      stderr: 'postrider: Postgres is not available: connect ECONNREFUSED 127.0.0.1:1\n',
    });
  });

  test('wrong usage ends with 2, and with one line on stderr', async () => {
    expect(await onDatabase('frobnicate')).toEqual({
      code: 2,
      stdout: '',
      stderr: "postrider: unknown command 'frobnicate' (see postrider --help)\n",
    });
  });
});

const onLinux = process.platform === 'linux' ? test : test.skip; // only Linux has /dev/full

/** Runs a program and closes our end of its pipe `broken`. @param stdout a pipe, or a file descriptor */
async function runInto(
  stdout: 'pipe' | number,
  args: readonly string[],
  broken: 'stdout' | 'stderr' = 'stdout',
) {
  const env = { PATH: process.env['PATH'], DATABASE_URL: database.url };
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', stdout, 'pipe'] });
  endsWithUs(child);
  child[broken]?.destroy();
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stderr };
}

test.each([
  ['postrider', 'cli.js'],
  ['postrider-receiver', 'receiver/esm/cli/main.js'],
])('%s ends with its usual exit code when the reader of its errors is gone', async (_program, file) => {
  expect(await runInto('pipe', [join(DIST, file), 'frobnicate'], 'stderr')).toEqual({ code: 2, stderr: '' });
});

test('`postrider migrate` applies each migration also when the reader of its output is gone', async () => {
  await database.query('drop schema public cascade');
  await database.query('drop schema bullmq cascade');
  await database.query('create schema public');
  expect(await runInto('pipe', [join(DIST, 'cli.js'), 'migrate'])).toEqual({ code: 1, stderr: '' });
  expect(await onDatabase('migrate')).toEqual({
    code: 0,
    stdout: 'the database is up to date\n',
    stderr: '',
  });
});

/**
 * Runs before the command. Says "lives" when the process outlives a SIGINT, and moves its clock: the command
 * ignores a SIGINT that comes within a second after the one before.
 */
const OUTLIVES_SIGINT = `
const now = performance.now.bind(performance);
let laterMs = 0;
performance.now = () => now() + laterMs;
process.on('SIGINT', () =>
  setImmediate(() => {
    laterMs += 2_000;
    process.stdout.write('lives');
  }),
);
`;

test('a second Ctrl+C ends `postrider recover` while the database does not answer', async () => {
  const proxy = await startFaultProxy(database.url);
  const trap = proxy.trap({ sees: 'find-recovery', in: 'toServer', holds: 'toClient' });
  const preload = `data:text/javascript,${encodeURIComponent(OUTLIVES_SIGINT)}`;
  const args = ['recover', await createRows(database).webhook(), '--since', '2026-01-01T00:00:00Z'];
  const env = { PATH: process.env['PATH'], DATABASE_URL: proxy.url(database.url) };
  const child = spawn(process.execPath, ['--import', preload, join(DIST, 'cli.js'), ...args], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  endsWithUs(child);
  const ended = once(child, 'exit');
  await trap.caught();
  const outcomes: unknown[] = [];
  for (let signals = 0; signals < 2; signals += 1) {
    child.kill('SIGINT');
    outcomes.push(await Promise.race([once(child.stdout, 'data').then(String), ended]));
  }
  await proxy.close();
  expect(outcomes).toEqual(['lives', [130, null]]);
});

describe.each([
  ['postrider', [join(DIST, 'cli.js'), 'account', 'list']],
  ['postrider-receiver', [join(DIST, 'receiver/esm/cli/main.js'), '--help']],
])('%s fails', (program, args) => {
  test('silently when the reader of its output is gone', async () => {
    expect(await runInto('pipe', args)).toEqual({ code: 1, stderr: '' });
  });

  onLinux('with one line when its output cannot be written', async () => {
    const full = openSync('/dev/full', 'w');
    try {
      expect(await runInto(full, args)).toEqual({
        code: 1,
        stderr: `${program}: stdout: ENOSPC: no space left on device, write\n`,
      });
    } finally {
      closeSync(full);
    }
  });
});
