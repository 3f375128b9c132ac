import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { type CpuInfo, cpus } from 'node:os';
import { UsageError } from './arguments.ts';

/** The processors that this process may run on, and so all that it starts: all, unless it was held to some. */
export function usableCores(): CpuInfo[] {
  const all = cpus();
  const usable = usableNumbers() ?? [];
  // Where the system numbers them otherwise, as with a processor switched off, nobody can tell which are meant.
  return usable.some((number) => number < all.length)
    ? all.filter((_, number) => usable.includes(number))
    : all;
}

/** Holds this process, and all that it starts from now on, to the first of its processors. @throws UsageError */
export function holdToCores(count: number): void {
  const usable = usableNumbers()?.filter((number) => number < cpus().length) ?? [];
  if (usable.length < count) {
    throw new UsageError(`--cores ${count} needs Linux and as many processors; there are ${usable.length}`);
  }
  const list = usable.slice(0, count).join(',');
  try {
    execFileSync('taskset', ['--all-tasks', '--pid', '--cpu-list', list, String(process.pid)]);
  } catch (error) {
    throw new UsageError(`--cores needs taskset, of util-linux: ${String(error).split('\n')[0] ?? ''}`);
  }
}

/** Null where the system does not tell. */
function usableNumbers(): number[] | null {
  if (process.platform !== 'linux') return null;
  const [, list] = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  return list === undefined ? null : numbersOf(list);
}

/** @param list as `0-2,5` */
function numbersOf(list: string): number[] {
  return list.split(',').flatMap((range) => {
    const [first, last = first] = range.split('-').map(Number);
    return first === undefined || last === undefined
      ? []
      : Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}
