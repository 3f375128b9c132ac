import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import { waitFor } from '@postrider/testing';
import { cpuSecondsOf, parseStat, residentBytesOf } from './process-figures.ts';

const onLinux = process.platform === 'linux' ? test : test.skip;

test('a program’s name may hold spaces and parentheses', () => {
  const line = '4242 (postgres: app) 7) S 17 4242 4242 0 -1 4194560 9 8 7 6 150 50 30 20 20 0 1 0 77 88 99';
  expect(parseStat(line)).toEqual({ parent: 17, ticks: 200, endedChildrenTicks: 50 });
});

onLinux('the CPU of a process is what the process itself knows of it, to the clock’s tick', () => {
  const own = process.cpuUsage();
  const ownSeconds = (own.user + own.system) / 1e6;
  expect(Math.abs(cpuSecondsOf({ pid: process.pid }) - ownSeconds)).toBeLessThan(0.5);
});

onLinux('that of a tree has its children’s in it, also when they have ended', async () => {
  const burn = 'const end = process.cpuUsage().user + 300_000; while (process.cpuUsage().user < end);';
  const script = `
    const { spawn } = require('node:child_process');
    const child = spawn(process.execPath, ['-e', ${JSON.stringify(burn)}]);
    child.on('exit', () => process.stdout.write('burnt'));
    setInterval(() => undefined, 1000);`;
  const parent = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const pid = parent.pid ?? 0;
    await waitFor(() => cpuSecondsOf({ pid, withChildren: true }) - cpuSecondsOf({ pid }) >= 0.1, {
      what: 'the living child to be counted',
    });
    await once(parent.stdout, 'data');
    expect(cpuSecondsOf({ pid, withChildren: true }) - cpuSecondsOf({ pid })).toBeGreaterThanOrEqual(0.3);
  } finally {
    parent.kill('SIGKILL');
  }
});

onLinux('a process that is gone has used nothing', () => {
  expect(cpuSecondsOf({ pid: 2 ** 22 + 1 })).toBe(0);
});

onLinux('resident memory is that of the process', () => {
  const ratio = residentBytesOf(process.pid) / process.memoryUsage.rss();
  expect(ratio).toBeGreaterThan(0.8);
  expect(ratio).toBeLessThan(1.25);
});
