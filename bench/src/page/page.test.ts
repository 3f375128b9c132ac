import { describe, expect, test } from '@jest/globals';
import { checkOf, figureHolds, resultSchema, valueOf } from '../result/result.ts';
import type { FigureResult, Result } from '../result/result.ts';
import { pageOf, plotsOf } from './page.ts';

const reached = checkOf('CPU per delivery', '×', [1.2, 1.3, 1.1], { atMost: 1.5 });
const missed = checkOf('deliveries per second', '×', [0.4, 0.45, 0.42], { atLeast: 0.5 });

function figure(wish: Partial<FigureResult>): FigureResult {
  return {
    id: 'drain',
    title: 'A burst: CPU and rate',
    group: 'load',
    how: 'A burst is drained.',
    status: 'measured',
    reason: null,
    seconds: 12,
    checks: [reached],
    values: [],
    tables: [],
    plots: [],
    ...wish,
  };
}

function result(figures: FigureResult[], wish: Partial<Result> = {}): Result {
  return {
    format: 1,
    command: 'npm run bench',
    startedAt: '2026-05-04T03:02:01.000Z',
    seconds: 1800,
    quick: false,
    rounds: 3,
    machine: { cores: '2 × Test' },
    versions: { 'Node.js': 'v20' },
    configuration: { Redis: 'nothing written to disk' },
    figures,
    holds: figures.every(figureHolds),
    ...wish,
  };
}

const page = (figures: FigureResult[], wish: Partial<Result> = {}) =>
  pageOf(result(figures, wish), { name: 'benchmark' });

describe('an aim', () => {
  test('that is reached is shown with its median and spread', () => {
    expect(page([figure({})])).toMatch(
      /CPU per delivery: at most 1\.50 × +\| 1\.20 × \(1\.10 to 1\.30\) +\| yes +\|/,
    );
  });

  test('that is not reached stands as not reached', () => {
    const text = page([figure({ checks: [reached, missed] })]);
    expect(
      text.match(/deliveries per second.*0\.42 × \(0\.40 to 0\.45\) +\| \*\*not reached\*\*/g),
    ).toHaveLength(1);
    expect(text).toContain('**1 of 2 aims are reached.**');
  });
});

describe('a figure', () => {
  test('that was not measured says so, and why', () => {
    const text = page([figure({ status: 'not measured', reason: 'not done after 04:00', checks: [] })]);
    expect(text).toContain('**not measured**: not done after 04:00');
    expect(text).toContain('> **1 of 1 figures were not measured in this run.**');
    expect(text).toMatch(/\[A burst: CPU and rate\]\(\S+\) +\| +\| +\| \*\*not measured\*\*/);
  });

  test('has one sentence about its setting', () => {
    expect(page([figure({ how: 'A burst is drained. One worker runs.' })])).toMatch(
      /\| A burst is drained\. +\|/,
    );
  });

  test('shows its plot', () => {
    const plot = {
      kind: 'lines' as const,
      logarithmic: false,
      id: 'rates',
      title: 'Rates',
      xLabel: 'x',
      yLabel: 'y',
      series: [{ name: 'a', points: [[1, 2]] as [number, number][] }],
    };
    const one = figure({
      plots: [plot],
    });
    const text = page([one]);
    expect(text).toContain('![Rates](benchmark/rates.svg)');
    expect(plotsOf(result([one]))).toEqual([plot]);
  });

  test('is linked to its method', () => {
    const text = page([figure({ title: 'Redis’ memory, with 1,000 queued' })]);
    expect(text).toContain(
      '[Redis’ memory, with 1,000 queued](benchmark-method.md#redis-memory-with-1000-queued)',
    );
  });
});

describe('a run', () => {
  test('says what was run on what', () => {
    const text = page([figure({})]);
    expect(text).toContain('`npm run bench`, begun 2026-05-04 03:02 UTC, took 30 minutes.');
    for (const fact of ['2 × Test', 'v20', 'nothing written to disk']) expect(text).toContain(fact);
  });

  test('with one round claims neither a median nor a spread', () => {
    expect(page([figure({})], { rounds: 1 })).toContain('Each value is one measurement.');
    expect(page([figure({})], { rounds: 1 })).not.toContain('median of its rounds');
    expect(page([figure({})])).toContain('median of its rounds');
  });

  test('of small sizes is marked as one that means nothing', () => {
    expect(page([figure({})], { quick: true })).toContain('its figures mean nothing.**');
    expect(page([figure({})])).not.toContain('A trial run');
  });

  test('that measured isolation shows all disturbances in one plot', () => {
    const values = [valueOf('p99 alone', 'ms', [10, 12, 11]), valueOf('p99 beside it', 'ms', [15])];
    const others = [valueOf('p99 of the other account, alone', 'ms', [5])];
    const figures = [
      ...['flood', 'drips'].map((id) => figure({ id, group: 'isolation', values })),
      figure({ id: 'of another time', group: 'isolation', values: others }),
    ];
    expect(plotsOf(result(figures))).toMatchObject([
      {
        id: 'isolation',
        categories: ['flood', 'drips'],
        series: [{ values: [11, 11] }, { values: [15, 15] }],
      },
    ]);
    expect(page(figures)).toContain('(benchmark/isolation.svg)');
    expect(page([figure({})])).not.toContain('## Isolation');
  });
});

test('what the page is made of is what result.json holds', () => {
  const whole = result([figure({ checks: [reached, missed] })]);
  expect(pageOf(resultSchema.parse(JSON.parse(JSON.stringify(whole))), { name: 'x' })).toBe(
    pageOf(whole, { name: 'x' }),
  );
});
