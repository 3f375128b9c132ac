import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { startTcpListener } from '@postrider/testing';
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

test('a process that ends within its own deadline is not killed', async () => {
  writeFileSync(file('relay.js'), SLOW_TO_END);
  const health = await startTcpListener((socket) =>
    socket.end(`HTTP/1.1 ${existsSync(file('ready')) ? 200 : 503} -\r\nContent-Length: 0\r\n\r\n`),
  );
  const child = await startChild(
    {
      name: 'relay',
      distDir: folder,
      env: process.env,
      readyUrl: `http://127.0.0.1:${health.port}/`,
      logFile: file('relay.log'),
      shutdownDeadlineMs: 5_000,
      terminal: { say: () => undefined } as unknown as Terminal,
      onPid: () => undefined,
    },
    new AbortController().signal,
  );
  await child.stop();
  await health.close();
  expect(existsSync(file('ended'))).toBe(true);
});
