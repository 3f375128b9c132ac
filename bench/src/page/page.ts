import { figureHolds } from '../result/result.ts';
import type { Check, FigureResult, Plot, Result } from '../result/result.ts';
import { median } from '../result/statistics.ts';
import { aim, number, spread } from './numbers.ts';
import { table } from './table.ts';

/** Notes by figure, written by hand in Markdown: where the time goes, and what was tried. */
export type Notes = ReadonlyMap<string, string>;

/** What a page needs besides its result. */
interface Beside {
  readonly notes: Notes;
  /** The name of the page's file and of the folder with its plots. */
  readonly name: string;
}

const NOT_REACHED = '**not reached**';

/**
 * The page of a result. It contains only constant sentences, values of the result, and the notes. It shows
 * each plot of `plotsOf` as `NAME/ID.svg`.
 */
export function pageOf(result: Result, beside: Beside): string {
  return `${[
    '# Benchmark',
    'Made by `npm run bench -- --publish`; do not edit. Notes are in `bench/notes`.',
    ...warnings(result),
    introduction(result),
    '## At a glance',
    glance(result.figures),
    '## The machine and what ran on it',
    table(
      ['what', 'which'],
      [...facts(result.machine), ...facts(result.versions), ...facts(result.configuration)],
    ),
    ...section('## Load', result, 'load', beside),
    ...section('## Isolation', result, 'isolation', beside),
    '## Repeat it',
    repeat(beside.name),
  ].join('\n\n')}\n`;
}

/** All plots that the page shows. */
export function plotsOf(result: Result): Plot[] {
  const isolation = isolationPlot(result.figures);
  return [...result.figures.flatMap((figure) => figure.plots), ...(isolation === null ? [] : [isolation])];
}

const repeat = (name: string): string =>
  [
    '```sh',
    'npm run bench                          # everything; 60 minutes at the most on two cores',
    'npm run bench -- --list                # the figures',
    'npm run bench -- --only drain,latency  # some of them',
    'npm run bench -- --cores 2             # on two cores of a machine that has more',
    'npm run bench -- --quick               # small sizes, to try the tool; the figures mean nothing',
    '```',
    '',
    'It needs a `redis-server` or `valkey-server` on PATH, and Linux for the CPU and the memory of processes. It starts',
    'everything itself, on loopback only, and exits with 0 when every aim is reached. The result is',
    `[result.json](${name}/result.json): all numbers of this page and more.`,
  ].join('\n');

function warnings(result: Result): string[] {
  const missing = result.figures.filter((figure) => figure.status === 'not measured').length;
  return [
    ...(result.quick
      ? ['> **A trial run with small sizes. It shows what the page looks like; its figures mean nothing.**']
      : []),
    ...(missing === 0
      ? []
      : [`> **${missing} of ${result.figures.length} figures were not measured in this run.**`]),
  ];
}

function introduction(result: Result): string {
  const checks = result.figures.flatMap((figure) => figure.checks);
  const reached = checks.filter((check) => check.holds).length;
  return [
    `\`${result.command}\`, begun ${result.startedAt.slice(0, 16).replace('T', ' ')} UTC, took ` +
      `${number(result.seconds / 60)} minutes. **${reached} of ${checks.length} aims are reached.**`,
    '',
    'Real processes, a private Postgres and a private Redis, TLS between workers and receiver, everything on one machine',
    'and on loopback. A ratio stands beside its own yardstick, measured in the same run, in turn: on another machine compare',
    'the ratios. Each figure is the median of its rounds, with the lowest and the highest in parentheses.',
  ].join('\n');
}

function glance(figures: readonly FigureResult[]): string {
  const rows = figures.flatMap((figure) =>
    figure.status === 'not measured'
      ? [[figure.title, '', '', '**not measured**']]
      : figure.checks.map((check, index) => [
          index === 0 ? `[${figure.title}](#${anchorOf(figure.title)})` : '',
          `${check.name}: ${aim(check)}`,
          spread(check),
          verdict(check),
        ]),
  );
  return table(['figure', 'aim', 'measured', 'reached'], rows);
}

function section(heading: string, result: Result, group: FigureResult['group'], beside: Beside): string[] {
  const figures = result.figures.filter((figure) => figure.group === group);
  if (figures.length === 0) return [];
  const overview = group === 'isolation' ? isolationPlot(figures) : null;
  return [
    heading,
    ...(overview === null ? [] : [image(overview, beside)]),
    ...figures.flatMap((figure) => figureSection(figure, beside)),
  ];
}

function figureSection(figure: FigureResult, beside: Beside): string[] {
  const note = beside.notes.get(figure.id);
  const state = figureHolds(figure)
    ? []
    : [figure.status === 'measured' ? NOT_REACHED : `**not measured**: ${figure.reason ?? ''}`];
  const rows = [
    ...figure.checks.map((check) => [check.name, aim(check), spread(check), verdict(check)]),
    ...figure.values.map((value) => [value.name, '', spread(value), '']),
  ];
  return [
    `### ${figure.title}`,
    ...state,
    figure.how,
    ...(rows.length === 0 ? [] : [table(['', 'aim', 'measured', 'reached'], rows)]),
    ...figure.plots.map((plot) => image(plot, beside)),
    ...figure.tables.flatMap(({ title, head, rows: cells }) => [
      `${title}:`,
      table(
        head,
        cells.map((row) => row.map((cell) => (typeof cell === 'number' ? number(cell) : code(cell)))),
      ),
    ]),
    ...(note === undefined ? [] : ['#### Where the time goes', note.trim()]),
  ];
}

function verdict(check: Check): string {
  return check.holds ? 'yes' : NOT_REACHED;
}

/** A table that compares the disturbances. */
function isolationPlot(figures: readonly FigureResult[]): Plot | null {
  const measured = figures.filter((figure) => figure.group === 'isolation' && figure.status === 'measured');
  if (measured.length === 0) return null;
  const named = (name: string): number[] =>
    measured.map(({ values }) =>
      median(values.filter((value) => value.name === name).map((value) => value.measured.median)),
    );
  return {
    kind: 'bars',
    stacked: false,
    id: 'isolation',
    title: 'p99 of the healthy endpoint from commit to arrival (median)',
    xLabel: '',
    yLabel: 'ms',
    categories: measured.map(({ id }) => id),
    series: ['p99 alone', 'p99 beside it'].map((name) => ({ name, values: named(name) })),
  };
}

function image({ id, title }: Plot, { name }: Pick<Beside, 'name'>): string {
  return `![${title}](${name}/${id}.svg)`;
}

/** The anchor of a heading, as GitHub makes it. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s-]/gu, '')
    .replaceAll(' ', '-');
}

function facts(record: Readonly<Record<string, string>>): string[][] {
  return Object.entries(record).map(([name, value]) => [name, value]);
}

/** Shows statements in a table as code, but not numbers. */
function code(cell: string): string {
  return /^[\d.]+$/.test(cell) ? cell : `\`${cell}\``;
}
