import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, expect, test } from '@jest/globals';
import { waitFor } from '@postrider/testing';
import { ChildLog } from './child-log.ts';

const folder = mkdtempSync(join(tmpdir(), 'child-log-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('a log keeps every line, shows a repeated warning once, and the last error without its stack', async () => {
  const file = join(folder, 'logs', 'worker.log');
  const shown: string[] = [];
  const log = new ChildLog(file, (words, role) => shown.push(`${role}: ${words}`));
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  log.follow(stdout, stderr);
  const warning = '{"level":"warn","msg":"pass failed","service":"relay"}';
  stdout.end(`${warning}\n${warning}\n{"level":"info","msg":"started"}\n`);
  stderr.end('postrider: cannot start\n    at main.ts:1 {\n  code: 1\n}\n\nNode.js v24.21.0\n');
  const lines = () => readFileSync(file, 'utf8').trim().split('\n');
  await waitFor(() => lines().length === 9, { what: 'nine lines' });
  expect(shown.sort()).toEqual(['null: postrider: cannot start', 'relay: warning: pass failed']);
  expect(log.lastErrorLine()).toBe('postrider: cannot start');
  await log.close();

  await new ChildLog(file, () => undefined).close();
  expect(readFileSync(file, 'utf8')).toBe('');
  expect(readFileSync(`${file}.1`, 'utf8')).toContain('pass failed');
});

test('a warning of Node is shown without its hint, and is not the last error', async () => {
  const shown: string[] = [];
  const log = new ChildLog(join(folder, 'warning.log'), (words) => shown.push(words));
  const stderr = new PassThrough();
  log.follow(new PassThrough(), stderr);
  stderr.end(
    'postrider: cannot start\n(node:7) [DEP1] DeprecationWarning: old\n' +
      '(Use `node --trace-deprecation ...` to show where the warning was created)\n',
  );
  await waitFor(() => shown.length >= 2, { what: 'both lines' });
  await log.close();
  expect(log.lastErrorLine()).toBe('postrider: cannot start');
  expect(shown).toEqual(['postrider: cannot start', '(node:7) [DEP1] DeprecationWarning: old']);
});

test('a file that cannot be written is reported once, and the warnings are still shown', async () => {
  const shown: string[] = [];
  const log = new ChildLog(join(folder, 'x'.repeat(300)), (words) => shown.push(words));
  const stderr = new PassThrough();
  log.follow(new PassThrough(), stderr);
  await waitFor(() => shown.length === 1, { what: 'the report' });
  stderr.end('first\nsecond\n');
  await waitFor(() => shown.length === 3, { what: 'both lines' });
  await log.close();
  expect(shown).toEqual([expect.stringMatching(/^log file: ENAMETOOLONG/), 'first', 'second']);
});

test('a line that arrives after the end of the log is only shown', async () => {
  const file = join(folder, 'late.log');
  const shown: string[] = [];
  const log = new ChildLog(file, (words) => shown.push(words));
  const stderr = new PassThrough();
  log.follow(new PassThrough(), stderr);
  const closed = log.close();
  stderr.end('late\n');
  await closed;
  await waitFor(() => shown.length === 1, { what: 'the late line' });
  expect(readFileSync(file, 'utf8')).toBe('');
});
