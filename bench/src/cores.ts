import { execFileSync } from 'node:child_process';
import { usableCoreNumbers } from '@postrider/testing';
import { UsageError } from './arguments.ts';

/** Limits this process and its later children to the first `count` processors. @throws UsageError */
export function holdToCores(count: number): void {
  const usable = usableCoreNumbers();
  if (usable.length < count) {
    throw new UsageError(`--cores ${count} needs Linux and as many processors; there are ${usable.length}`);
  }
  try {
    hold(process.pid, usable.slice(0, count));
  } catch (error) {
    throw new UsageError(`--cores needs taskset, of util-linux: ${String(error).split('\n')[0] ?? ''}`);
  }
}

function hold(pid: number, cores: readonly number[]): void {
  execFileSync('taskset', ['--all-tasks', '--pid', '--cpu-list', cores.join(','), String(pid)]);
}
