import { markdownTable } from '@postrider/testing';
import { mostFirst, type Micros, sum } from '../profile.ts';

/** Libraries below this share in every process are put together. */
const PERCENT_MIN = 1;

/**
 * @param figures the time of each process, by library
 * @param command the command of the measurement
 */
export function profilesPage(
  figures: ReadonlyMap<string, ReadonlyMap<string, Micros>>,
  command: string,
): string {
  const sections = [...figures].map(([figure, processes]) => {
    const names = [...processes.keys()].sort();
    const percents = names.map(
      (name) => new Map(mostFirst(processes.get(name) ?? new Map<string, number>())),
    );
    const libraries = mostFirst(sum([...processes.values()]))
      .map(([library]) => library)
      .filter((library) => percents.some((of) => (of.get(library) ?? 0) >= PERCENT_MIN));
    const rows = libraries.map((library) => [
      library,
      ...percents.map((of) => percent(of.get(library) ?? 0)),
    ]);
    const rest = percents.map((of) =>
      percent(
        [...of].filter(([library]) => !libraries.includes(library)).reduce((sum, [, each]) => sum + each, 0),
      ),
    );
    return `## ${figure}\n\n${markdownTable(['library', ...names], [...rows, ['all others', ...rest]])}\n`;
  });
  return [head(command), ...sections].join('\n');
}

function head(command: string): string {
  return `# Profiles

Made by \`${command} --publish\`; do not edit.

What took the CPU time of each process in figures of the [benchmark](benchmark.md), by library, in percent of the time that it
was busy. Native code, events and buffers count as the library's that called them, and a start counts as well. Node's profiler
slows what it measures: the shares are good, the times of such a run are not, so it publishes nothing else.
`;
}

function percent(value: number): string {
  return value === 0 ? '' : `${value.toFixed(1)} %`;
}
