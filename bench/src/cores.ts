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

/**
 * Keeps processes and their later children off the last processor.
 *
 * @returns `give` limits a process to that processor; `end` lets `pids` use all processors again.
 * @throws Error without Linux, taskset and two processors
 */
export function keepLastCoreFree(pids: readonly number[]): { give(pid: number): void; end(): void } {
  const usable = usableCoreNumbers();
  if (usable.length < 2) throw new Error(`it needs Linux and two processors; there are ${usable.length}`);
  for (const pid of pids) hold(pid, usable.slice(0, -1));
  return {
    give: (pid) => hold(pid, usable.slice(-1)),
    end: () => pids.forEach((pid) => hold(pid, usable)),
  };
}

function hold(pid: number, cores: readonly number[]): void {
  execFileSync('taskset', ['--all-tasks', '--pid', '--cpu-list', cores.join(','), String(pid)]);
}
