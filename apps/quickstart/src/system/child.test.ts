import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, jest, test } from '@jest/globals';
import { startTcpListener, waitFor } from '@postrider/testing';
import type { Terminal } from '../terminal.ts';
import { startChild } from './child.ts';

const folder = mkdtempSync(join(tmpdir(), 'child-'));
afterAll(() => rmSync(folder, { recursive: true }));
const file = (name: string) => join(folder, name);

/** Ends 3.5 s after SIGTERM: later than the margin alone, and within a deadline of 5 s. */
const SLOW_TO_END = `
  const { writeFileSync } = require('node:fs');
  process.on('SIGTERM', () => setTimeout(() => {
    writeFileSync(${JSON.stringify(file('ended'))}, '');
    process.exit();
  }, 3_500));
  setInterval(() => {}, 1_000);
  writeFileSync(${JSON.stringify(file('ready'))}, '');`;

/** Ends at once. A process that it started writes the reason a little later. */
const LATE_REASON = `
  require('node:child_process').spawn(
    process.execPath,
    ['-e', "setTimeout(() => console.error('postrider: the reason'), 300)"],
    { stdio: 'inherit' },
  );
  process.exit(1);`;

const start = (name: string, readyUrl: string, said: string[] = []) =>
  startChild(
    {
      name,
      distDir: folder,
      env: process.env,
      readyUrl,
      logFile: file(`${name}.log`),
      shutdownDeadlineMs: 5_000,
      terminal: { say: (_topic, words) => said.push(words) } as Pick<Terminal, 'say'> as Terminal,
      onPid: () => undefined,
    },
    new AbortController().signal,
  );

test('a process that ends within its own deadline is not killed', async () => {
  writeFileSync(file('relay.js'), SLOW_TO_END);
  const health = await startTcpListener((socket) =>
    socket.end(`HTTP/1.1 ${existsSync(file('ready')) ? 200 : 503} -\r\nContent-Length: 0\r\n\r\n`),
  );
  const child = await start('relay', `http://127.0.0.1:${health.port}/`);
  await child.stop();
  await health.close();
  expect(existsSync(file('ended'))).toBe(true);
});

test('a failed start has the last line on stderr, also when it arrives after the exit', async () => {
  writeFileSync(file('api.js'), LATE_REASON);
  await expect(start('api', 'http://127.0.0.1:1/')).rejects.toThrow(/^the reason$/);
  expect(readFileSync(file('api.log'), 'utf8')).toBe('postrider: the reason\n');
});

test('a process that is not ready in time is named so, whatever it wrote to stderr', async () => {
  writeFileSync(file('console.js'), "console.error('a warning'); setInterval(() => {}, 1_000);");
  const said: string[] = [];
  const started = start('console', 'http://127.0.0.1:1/', said);
  started.catch(() => undefined);
  await waitFor(() => said.includes('a warning'), { what: 'the line' });
  const now = performance.now();
  const clock = jest.spyOn(performance, 'now').mockReturnValue(now + 31_000);
  try {
    await expect(started).rejects.toThrow(/^it was not ready after 30 s$/);
  } finally {
    clock.mockRestore();
  }
});

test('a process that ends without a message is named so, also after a warning of Node', async () => {
  writeFileSync(file('cli.js'), "process.emitWarning('old'); process.exitCode = 3;");
  await expect(start('cli', 'http://127.0.0.1:1/')).rejects.toThrow(/^it ended with 3$/);
});

test('a process that ends again and again is started again after twice the time', async () => {
  writeFileSync(file('inbound.js'), 'process.exitCode = 3;');
  const health = await startTcpListener((socket) =>
    socket.end('HTTP/1.1 200 -\r\nContent-Length: 0\r\n\r\n'),
  );
  const said: string[] = [];
  const child = await start('inbound', `http://127.0.0.1:${health.port}/`, said);
  await waitFor(() => said.length >= 2, { what: 'the second end' });
  await child.stop();
  await health.close();
  expect(said.slice(0, 2)).toEqual([
    'ended with 3; starting again in 0.5 s',
    'ended with 3; starting again in 1 s',
  ]);
});

test('a program that cannot run is a failed start', async () => {
  const { execPath } = process;
  process.execPath = file('missing');
  try {
    await expect(start('worker', 'http://127.0.0.1:1/')).rejects.toThrow(/missing ENOENT$/);
  } finally {
    process.execPath = execPath;
  }
});
