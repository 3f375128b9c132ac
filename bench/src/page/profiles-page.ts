import { markdownTable } from '@postrider/testing';
import type { Result } from '../result/result.ts';
import { mostFirst, type Micros, sum } from '../profile.ts';

/** Libraries below this share in every process are put together. */
const PERCENT_MIN = 1;

/**
 * @param figures the time by library, per figure and process
 * @param run the measurement
 */
export function profilesPage(
  figures: ReadonlyMap<string, ReadonlyMap<string, Micros>>,
  run: Pick<Result, 'command' | 'startedAt' | 'machine' | 'versions'>,
): string {
  const sections = [...figures].map(([figure, processes]) => {
    const names = [...processes.keys()].sort();
    const percents = names.map(
      (name) => new Map(mostFirst(processes.get(name) ?? new Map<string, number>())),
    );
    const libraries = mostFirst(sum([...processes.values()]))
      .map(([library]) => library)
      .filter((library) => percents.some((byLibrary) => (byLibrary.get(library) ?? 0) >= PERCENT_MIN));
    const rows = libraries.map((library) => [
      library,
      ...percents.map((byLibrary) => percent(byLibrary.get(library) ?? 0)),
    ]);
    const rest = percents.map((byLibrary) => {
      const others = [...byLibrary].filter(([library]) => !libraries.includes(library));
      return percent(others.reduce((total, [, share]) => total + share, 0));
    });
    return `## ${figure}\n\n${markdownTable(['library', ...names], [...rows, ['all others', ...rest]])}\n`;
  });
  return [head(run), ...sections].join('\n');
}

function head({ command, startedAt, machine, versions }: Parameters<typeof profilesPage>[1]): string {
  return `# Profiles

Made by \`${command} --publish\` on ${startedAt.slice(0, 10)}, with Node ${versions['Node.js'] ?? 'unknown'} on ${machine['cores'] ?? 'unknown'}; do not edit.

The busy time of each process in figures of the [benchmark](benchmark-2-cores.md), by library. Native code, events and buffers count
for the library that called them. The start of a process counts, too. Node's profiler slows a process down, so the run publishes only
this page.

The profiler reads a clock, not the CPU. A write to a socket wakes the process at its other end. On a machine with few cores that process
often takes the core, and the writer's wait counts as time of the socket. Find what costs CPU time with \`node --perf-basic-prof\` and
\`perf record -e task-clock -g\`.
`;
}

function percent(value: number): string {
  return value === 0 ? '' : `${value.toFixed(1)} %`;
}
