import { markdownTable, median } from '@postrider/testing';
import type { Check, FigureResult, Plot, Result } from '../result/result.ts';
import { aim, number, spread } from './numbers.ts';

interface PageOptions {
  /** The name of the page's file and of the folder with its plots. */
  readonly name: string;
}

const NOT_REACHED = '**not reached**';
/** Beside each page of results. */
const METHOD_PAGE = 'benchmark-method.md';

/**
 * The page of a result. It contains only constant sentences and values of the result. It shows each plot of
 * `plotsOf` as `NAME/ID.svg`. The method of each figure is on the method page.
 */
export function pageOf(result: Result, options: PageOptions): string {
  return `${[
    '# Benchmark',
    'Made by `npm run bench -- --publish`; do not edit.',
    ...warnings(result),
    introduction(result),
    ...section('## Load', result.figures, 'load'),
    ...section('## Isolation', result.figures, 'isolation'),
    ...plots(result, options),
    '## The machine and what ran on it',
    markdownTable(
      ['what', 'which'],
      [...facts(result.machine), ...facts(result.versions), ...facts(result.configuration)],
    ),
    '## Repeat it',
    repeat(options.name),
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
    'npm run bench',
    'npm run bench -- --list',
    'npm run bench -- --only drain,latency',
    'npm run bench -- --cores 2',
    'npm run bench -- --quick',
    '```',
    '',
    'The first one measures everything, in 90 minutes at the most on two cores. `--list` names the figures, `--only` measures',
    'some of them. `--cores 2` takes two cores of a machine that has more. `--quick` tries the tool with small sizes: its',
    'figures mean nothing.',
    '',
    'It needs a `redis-server` or `valkey-server` on PATH, and Linux for the CPU and the memory of processes. It starts',
    'everything itself, on loopback only, and exits with 0 when every aim is reached.',
    `[result.json](${name}/result.json) has all numbers of this page and more.`,
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
    'and on loopback. A ratio (×) compares with a yardstick of the same run: on another machine compare the ratios.',
    result.rounds === 1
      ? 'Each value is one measurement. The next run may show another one, above all of a p99.'
      : 'Each value is the median of its rounds, with the lowest and the highest in parentheses.',
    `[How each figure is measured, and what limits it](${METHOD_PAGE}).`,
  ].join('\n');
}

function section(heading: string, figures: readonly FigureResult[], group: FigureResult['group']): string[] {
  const rows = figures.filter((figure) => figure.group === group).flatMap(rowsOf);
  return rows.length === 0
    ? []
    : [heading, markdownTable(['figure', 'aim', 'measured', 'reached', 'setting'], rows)];
}

/** One row per aim. The first row has the title and one sentence about the setting. */
function rowsOf(figure: FigureResult): string[][] {
  const title = `[${figure.title}](${METHOD_PAGE}#${anchorOf(figure.title)})`;
  const setting = firstSentence(figure.how);
  if (figure.status === 'not measured') {
    return [[title, '', '', `**not measured**: ${figure.reason ?? ''}`, setting]];
  }
  return figure.checks.map((check, index) => [
    index === 0 ? title : '',
    `${check.name}: ${aim(check)}`,
    spread(check),
    verdict(check),
    index === 0 ? setting : '',
  ]);
}

/** Ends at the first period or colon that a space follows. */
function firstSentence(text: string): string {
  return `${/^.*?(?=[.:;] |\.?$)/.exec(text)?.[0] ?? text}.`;
}

function plots(result: Result, options: PageOptions): string[] {
  const images = plotsOf(result).map((plot) => image(plot, options));
  return images.length === 0 ? [] : ['## Plots', ...images];
}

function verdict(check: Check): string {
  return check.holds ? 'yes' : NOT_REACHED;
}

/** A plot that compares the disturbances. Null: no figure has both values. */
function isolationPlot(figures: readonly FigureResult[]): Plot | null {
  const series = ['p99 alone', 'p99 beside it'];
  const measured = figures.filter(
    ({ group, status, values }) =>
      group === 'isolation' &&
      status === 'measured' &&
      series.every((name) => named(name, values).length > 0),
  );
  if (measured.length === 0) return null;
  return {
    kind: 'bars',
    stacked: false,
    id: 'isolation',
    title: 'p99 of the healthy endpoint from commit to arrival (median)',
    xLabel: '',
    yLabel: 'ms',
    categories: measured.map(({ id }) => id),
    series: series.map((name) => ({
      name,
      values: measured.map(({ values }) => median(named(name, values))),
    })),
  };
}

function named(wanted: string, values: FigureResult['values']): number[] {
  return values.filter(({ name }) => name === wanted).map(({ measured }) => measured.median);
}

function image({ id, title }: Plot, { name }: PageOptions): string {
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
