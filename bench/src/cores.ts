import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { type CpuInfo, cpus } from 'node:os';
import { UsageError } from './arguments.ts';

/** The processors that this process and its children may use. */
export function usableCores(): CpuInfo[] {
  const all = cpus();
  const usable = usableNumbers() ?? [];
  // A system may number its processors differently, for example with one switched off. Then all count.
  return usable.some((number) => number < all.length)
    ? all.filter((_, number) => usable.includes(number))
    : all;
}

/** Limits this process and its later children to the first processors. @throws UsageError */
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

function usableCoreNumbers(): number[] {
  return usableNumbers()?.filter((number) => number < cpus().length) ?? [];
}

/** Returns null when the system does not report it. */
function usableNumbers(): number[] | null {
  if (process.platform !== 'linux') return null;
  const [, list] = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  return list === undefined ? null : numbersOf(list);
}

/** @param list such as `0-2,5` */
function numbersOf(list: string): number[] {
  return list.split(',').flatMap((range) => {
    const [first, last = first] = range.split('-').map(Number);
    return first === undefined || last === undefined
      ? []
      : Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}
