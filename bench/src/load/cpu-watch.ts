import type { Fixture } from '../figure.ts';
import type { Installation } from '../fixture/installation.ts';
import { cpuSecondsOf, requireProcessFigures } from '../fixture/process-figures.ts';
import type { Measured } from '../fixture/process-figures.ts';

/** Seconds of CPU, by process. */
export type CpuSeconds = Readonly<Record<string, number>>;

/** @returns a function that gives the CPU of each process since this call */
export function watchCpu(processes: readonly (readonly [name: string, Measured])[]): () => CpuSeconds {
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
export function sumOf(cpu: CpuSeconds, names: readonly string[]): number {
  return names.reduce((sum, name) => sum + (cpu[name] ?? Number.NaN), 0);
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
