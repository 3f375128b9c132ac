import { readFileSync } from 'node:fs';
import { arch, type CpuInfo, cpus, release, totalmem, type as systemType } from 'node:os';

/** The machine of a published result. */
export interface Machine {
  /** Processors that this process may use. */
  readonly cores: number;
  /** All processors. */
  readonly coresInAll: number;
  readonly cpu: string;
  readonly memoryGib: number;
  readonly platform: string;
  readonly node: string;
}

export function describeMachine(): Machine {
  const usable = usableCores();
  return {
    cores: usable.length,
    coresInAll: cpus().length,
    cpu: usable[0]?.model.trim() ?? 'unknown',
    memoryGib: Math.round(totalmem() / 1024 ** 3),
    platform: `${systemType()} ${release()} ${arch()}`,
    node: process.version,
  };
}

/** The processors that this process and its children may use. */
export function usableCores(): CpuInfo[] {
  const all = cpus();
  const usable = usableNumbers();
  // With a processor switched off, all numbers may lie beyond the list. Then all processors count.
  return usable.some((number) => number < all.length)
    ? all.filter((_, number) => usable.includes(number))
    : all;
}

/** The numbers of these processors. Empty when the system does not report them. */
export function usableCoreNumbers(): number[] {
  return usableNumbers().filter((number) => number < cpus().length);
}

/** Returns an empty list when the system does not report it. */
function usableNumbers(): number[] {
  if (process.platform !== 'linux') return [];
  const [, list] = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  return list === undefined ? [] : numbersOf(list);
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
