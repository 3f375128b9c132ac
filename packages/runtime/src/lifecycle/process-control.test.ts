import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from '@jest/globals';
import { buildSync } from 'esbuild';

/* Lifecycle in a real process, with real signals and exit codes. */

const children: ReturnType<typeof spawn>[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

function startProcess(part: string, deadlineMs = 60_000) {
  const { outputFiles } = buildSync({
    stdin: {
      contents: `
        import { createLogger, Lifecycle } from './index.ts';
        import { nodeProcess } from './lifecycle/process-control.ts';
        const logger = createLogger({ level: 'info', service: 'test' });
        let nowMs = 0;
        const control = nodeProcess(() => nowMs);
        const alive = setInterval(() => undefined, 1000);
        const forever = () => new Promise(() => undefined);
        await new Lifecycle({ logger, deadlineMs: ${deadlineMs}, control }).add('part', ${part}).run();`,
      resolveDir: fileURLToPath(new URL('..', import.meta.url)),
    },
    bundle: true,
    platform: 'node',
    format: 'esm',
    write: false,
    banner: { js: "import{createRequire}from'node:module';const require=createRequire(process.execPath);" },
  });
  const child = spawn(process.execPath, ['--input-type=module', '-']);
  children.push(child);
  child.stdin.end(outputFiles[0]?.text);
  const stdout: string[] = [];
  const stderr: string[] = [];
  createInterface(child.stdout).on('line', (line) => {
    stdout.push(line);
    child.emit('line', line);
  });
  createInterface(child.stderr).on('line', (line) => stderr.push(line));
  const started = async () => {
    while (!stdout.some((line) => line.includes('"msg":"started"'))) await once(child, 'line');
  };
  const exit = once(child, 'close').then(([code]) => code as number);
  return { child, started, exit, stdout, stderr };
}

test('SIGTERM ends a process whose part never stops, with 0 and a complete log', async () => {
  const { child, started, exit, stdout } = startProcess('{ stop: forever }', 50);
  await started();
  child.kill('SIGTERM');
  await expect(exit).resolves.toBe(0);
  const messages = stdout.map((line) => (JSON.parse(line) as { msg: string }).msg);
  expect(messages).toEqual(['started', 'stopping', 'stop cut short at the deadline', 'stopped']);
});

/** A part whose stop sends its process a SIGINT at each of these times after the first signal. */
const signalling = (...afterMs: number[]) => `{
  async stop() {
    for (nowMs of [${afterMs.join(', ')}]) {
      const received = new Promise((resolve) => process.once('SIGINT', resolve));
      process.kill(process.pid, 'SIGINT');
      await received;
    }
  }
}`;

test('a signal more than a second after the first ends it at once, with 130', async () => {
  const { child, started, exit } = startProcess(signalling(1, 1000, 1001));
  await started();
  child.kill('SIGTERM');
  await expect(exit).resolves.toBe(130);
});

test('one Ctrl-C that comes from the terminal and from npm lets it drain', async () => {
  const { child, started, exit } = startProcess(signalling(1, 1000));
  await started();
  child.kill('SIGINT');
  await expect(exit).resolves.toBe(0);
});

test.each([
  [
    'an exception that nobody caught',
    `{ start: async () => { setImmediate(() => { throw new Error('boom'); }); } }`,
  ],
  ['a rejection that nobody handled', `{ start: async () => { void Promise.reject(new Error('boom')); } }`],
])('%s is logged with its stack, and the exit is 1', async (_what, part) => {
  const { exit, stdout } = startProcess(part);
  await expect(exit).resolves.toBe(1);
  const line = stdout.map((text) => JSON.parse(text) as { level: string; error?: { stack: string } });
  expect(line.find(({ level }) => level === 'error')?.error?.stack).toMatch(/^Error: boom\n {4}at /);
});

test('a start that fails ends it with one line on stderr, and 1', async () => {
  const { exit, stderr } = startProcess(`{ start: async () => { throw new Error('no route'); } }`);
  await expect(exit).resolves.toBe(1);
  expect(stderr).toEqual(['postrider: cannot start part: no route']);
});
