import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { waitFor } from '../packages/testing/src/wait-for.ts';

// Imported by its URL, because TypeScript has no types of a script.
const script = new URL('test-run.mjs', import.meta.url).href;
const { lowerPriority } = (await import(script)) as {
  lowerPriority: (pid: number, niceness: number) => void;
};

const NO_RESULT = '0 passed, 1 failed, 0 skipped';

let folder: string;
let pidsFile: string;
/** Processes that a failed test may leave. */
const begun: number[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'postrider-test-run-'));
  pidsFile = join(folder, 'pids');
});
afterEach(() => {
  for (const pid of begun.splice(0).filter(isRunning)) process.kill(pid, 'SIGKILL');
  rmSync(folder, { recursive: true });
});

/** Arguments of node that run this code. */
const node = (code: string) => ['--input-type=module', '--eval', code];

const FOR_EVER = node('setInterval(() => {}, 1000);');

/** Starts a child that ignores signals and holds the pipes open. Writes both pids into the file. */
const withStubbornChild = () =>
  node(`
  import { spawn } from 'node:child_process';
  import { writeFileSync } from 'node:fs';
  const code = \`
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});
    setInterval(() => {}, 1000);
    process.send('ready');\`;
  const child = spawn(process.execPath, ['--eval', code], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  child.once('message', () => writeFileSync(${JSON.stringify(pidsFile)}, process.pid + ' ' + child.pid + ' '));`);

/** Starts a child that needs some time after a signal to stop a process of another group, as `npm start` does. */
const withOrderlyChild = (then = '') =>
  node(`
  import { spawn } from 'node:child_process';
  import { writeFileSync } from 'node:fs';
  const code = \`
    const { spawn } = require('node:child_process');
    const detached = spawn(process.execPath, ['--eval', 'setInterval(() => {}, 1000)'], { detached: true, stdio: 'ignore' });
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
      process.on(signal, () => setTimeout(() => { detached.kill(); process.exit(); }, 300));
    process.send(detached.pid);\`;
  const child = spawn(process.execPath, ['--eval', code], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  child.once('message', (pid) => { writeFileSync(${JSON.stringify(pidsFile)}, [process.pid, child.pid, pid, ''].join(' ')); ${then} });`);

/** Fails once the file with the pids is there. */
const failing = () =>
  node(`
  import { existsSync } from 'node:fs';
  import { setTimeout } from 'node:timers/promises';
  while (!existsSync(${JSON.stringify(pidsFile)})) await setTimeout(10);
  process.stdout.write('a.ts(1,1): error\\n');
  process.exitCode = 2;`);

/** Runs node with these arguments as `npm test` runs Jest and the static checks. @param jest null: only the checks */
function start(jest: readonly string[] | null, checks: readonly (readonly string[])[]) {
  const work =
    jest === null
      ? `run.check(${JSON.stringify(checks)})`
      : `run.testAndCheck(${JSON.stringify(jest)}, ${JSON.stringify(checks)})`;
  const code = `
    import { printResultOf } from ${JSON.stringify(script)};
    await printResultOf((run) => ${work});`;
  const child = spawn(process.execPath, node(code), {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = Promise.all([text(child.stdout), once(child, 'close') as Promise<[number | null]>]).then(
    ([stdout, [exitCode]]) => ({ lines: stdout.trimEnd().split('\n'), exitCode }),
  );
  begun.push(child.pid ?? 0);
  return { child, ended };
}

async function pids(): Promise<number[]> {
  await waitFor(() => existsSync(pidsFile) && readFileSync(pidsFile, 'utf8').endsWith(' '), {
    what: 'both children to run',
  });
  const started = readFileSync(pidsFile, 'utf8').trim().split(' ').map(Number);
  begun.push(...started);
  return started;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function untilGone(started: readonly number[]): Promise<void> {
  await waitFor(() => !started.some(isRunning), { what: 'every child to end' });
}

test('a check that fails stops Jest and the processes that Jest started; the result is the last line', async () => {
  const run = start(withStubbornChild(), [['types', ...failing()]]);
  const started = await pids();
  expect(await run.ended).toEqual({
    lines: ['a.ts(1,1): error', expect.stringMatching(/^\[test\] types … FAILED [\d.]+ s$/), NO_RESULT],
    exitCode: 1,
  });
  await untilGone(started);
});

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  'on %s the result is the last line, and what Jest started has time to end its own processes',
  async (signal) => {
    const run = start(withOrderlyChild(), [['types', ...FOR_EVER]]);
    const started = await pids();
    run.child.kill(signal);
    expect(await run.ended).toEqual({ lines: [NO_RESULT], exitCode: 1 });
    await untilGone(started);
  },
);

test('a process that Jest leaves behind has time to end its own processes, and then ends', async () => {
  const run = start(withOrderlyChild('process.exit()'), []);
  const started = await pids();
  expect(await run.ended).toMatchObject({ exitCode: 1 });
  await untilGone(started);
});

/** Writes this result, as Jest's reporter does. */
const resulting = (line: string) =>
  node(`
  import { writeFileSync } from 'node:fs';
  writeFileSync(process.env.TEST_SUMMARY_FILE, ${JSON.stringify(line)});`);

test('a run without a test is an error, such as after a typo in a pattern or a title', async () => {
  expect(await start(resulting('1 passed, 0 failed, 7 skipped'), []).ended).toEqual({
    lines: ['1 passed, 0 failed, 7 skipped'],
    exitCode: 0,
  });
  for (const line of ['0 passed, 0 failed, 8 skipped', '0 passed, 0 failed, 0 skipped']) {
    expect(await start(resulting(line), []).ended).toEqual({
      lines: [expect.stringContaining(`[test] no test ran (${line})`), NO_RESULT],
      exitCode: 1,
    });
  }
});

test('without Jest, the result counts the static checks', async () => {
  const passing = ['types', ...node('')];
  expect(await start(null, [passing, passing, passing]).ended).toMatchObject({
    lines: expect.arrayContaining(['3 passed, 0 failed, 0 skipped']),
    exitCode: 0,
  });
  const { lines, exitCode } = await start(null, [['lint', ...node('process.exitCode = 1')]]).ended;
  expect({ last: lines.at(-1), exitCode }).toEqual({ last: NO_RESULT, exitCode: 1 });
});

test('lowering the priority of a process that has ended is no error', async () => {
  const child = spawn(process.execPath, ['--eval', '']);
  await once(child, 'exit');
  expect(() => lowerPriority(child.pid ?? 0, 10)).not.toThrow();
});
