import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, expect, test } from '@jest/globals';
import { waitFor } from '@postrider/testing';
import { ChildLog } from './child-log.ts';

const folder = mkdtempSync(join(tmpdir(), 'child-log-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('a log keeps every line, shows a repeated warning once, and the last complaint without its stack', async () => {
  const file = join(folder, 'logs', 'worker.log');
  const shown: string[] = [];
  const log = new ChildLog(file, (words, service) => shown.push(`${service}: ${words}`));
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  log.follow(stdout, stderr);
  const warning = '{"level":"warn","msg":"pass failed","service":"relay"}';
  stdout.end(`${warning}\n${warning}\n{"level":"info","msg":"started"}\n`);
  stderr.end('postrider: cannot start\n    at main.ts:1\n');
  const lines = () => readFileSync(file, 'utf8').trim().split('\n');
  await waitFor(() => lines().length === 5, { what: 'five lines' });
  expect(shown.sort()).toEqual(['null: postrider: cannot start', 'relay: warning: pass failed']);
  expect(log.lastComplaint()).toBe('postrider: cannot start');
  await log.close();

  await new ChildLog(file, () => undefined).close();
  expect(readFileSync(file, 'utf8')).toBe('');
  expect(readFileSync(`${file}.1`, 'utf8')).toContain('pass failed');
});
