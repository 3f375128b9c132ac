import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { expect, test } from '@jest/globals';
import { onPath } from '@postrider/embedded';
import { usableCores } from '@postrider/testing';
import { UsageError } from './arguments.ts';
import { holdToCores, keepLastCoreFree } from './cores.ts';

test('the usable cores are those that the system lets this process run on', () => {
  expect(usableCores().length).toBeGreaterThanOrEqual(availableParallelism()); // a quota may lower this number
  expect(usableCores().length).toBeLessThanOrEqual(cpus().length);
});

test('nothing is held to more cores than there are', () => {
  const before = usableCores().length;
  expect(() => holdToCores(100_000)).toThrow(UsageError);
  expect(usableCores()).toHaveLength(before);
});

const [testWithTaskset, needs] =
  process.platform === 'linux' && usableCores().length > 1 && onPath('taskset') !== null
    ? [test, '']
    : [test.skip, ' (skipped: needs Linux, two processors and taskset on the PATH)'];

testWithTaskset(`the last core is one process’s alone until the end${needs}`, () => {
  const [one, other] = [sleep(), sleep()];
  try {
    const all = coresOf(one.pid);
    const lastCore = keepLastCoreFree([one.pid]);
    lastCore.give(other.pid);
    expect([coresOf(one.pid), coresOf(other.pid)]).toEqual([all.slice(0, -1), all.slice(-1)]);
    lastCore.end();
    expect(coresOf(one.pid)).toEqual(all);
  } finally {
    one.kill();
    other.kill();
  }
});

function sleep(): { pid: number; kill(): void } {
  const child = spawn('sleep', ['60'], { stdio: 'ignore' });
  return { pid: child.pid ?? 0, kill: () => void child.kill() };
}

/** The numbers of the processors that the process may use. */
function coresOf(pid: number): number[] {
  const [, mask = ''] = /^Cpus_allowed:\s*(\S+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  const bits = BigInt(`0x${mask.replaceAll(',', '')}`);
  return cpus().flatMap((_, core) => (((bits >> BigInt(core)) & 1n) === 1n ? [core] : []));
}
