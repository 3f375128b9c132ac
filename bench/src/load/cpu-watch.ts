import type { Fixture } from '../figure.ts';
import type { Installation } from '../fixture/installation.ts';
import { cpuSecondsOf, requireProcessFigures } from '../fixture/process-figures.ts';
import type { Measured } from '../fixture/process-figures.ts';

/** A number for each process, by its name. */
export type ByProcess = Readonly<Record<string, number>>;

/** @returns a function that gives the seconds of CPU that each process has used since this call */
export function watchCpu(processes: readonly (readonly [name: string, Measured])[]): () => ByProcess {
  requireProcessFigures();
  const now = (): number[] => processes.map(([, measured]) => cpuSecondsOf(measured));
  const before = now();
  return () => {
    const used: Record<string, number> = {};
    now().forEach((seconds, index) => {
      const name = processes[index]?.[0] ?? '';
      used[name] = (used[name] ?? 0) + seconds - (before[index] ?? 0);
    });
    return used;
  };
}

/** @returns NaN when a process was not watched */
export function sumOf(numbers: ByProcess, names: readonly string[]): number {
  return names.reduce((sum, name) => sum + (numbers[name] ?? Number.NaN), 0);
}

export function scaled(numbers: ByProcess, factor: number): ByProcess {
  return Object.fromEntries(Object.entries(numbers).map(([name, number]) => [name, number * factor]));
}

/** Everything on the path of a delivery: the product's processes, its servers and the receiver. */
export function everyProcess(
  fixture: Pick<Fixture, 'cluster'>,
  installation: Installation,
  receiverPid: number,
): (readonly [string, Measured])[] {
  return [
    ...installation.processes.map(({ name, pid }) => [name, { pid }] as const),
    ['Postgres', { pid: fixture.cluster.pid, withChildren: true }],
    ['Redis', { pid: installation.redis.pid }],
    ['receiver', { pid: receiverPid }],
  ];
}
