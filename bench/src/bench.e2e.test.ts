import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { describeWithRedis, runNode } from '@postrider/testing';
import { usableCores } from './cores.ts';
import { API_LAYERS } from './load/api-layers.ts';
import { FIGURES } from './registry.ts';
import { readResult } from './publish.ts';
import type { Check } from './result/result.ts';

/* Runs the tool with small sizes. Tests that it works, not how fast the product is. */

const PROGRAM = join(import.meta.dirname, '..', '..', 'dist', 'bench.js');

const bench = (...args: string[]) => runNode([PROGRAM, ...args]);

describe('wrong input', () => {
  test.each([
    [['--only', 'speed'], "there is no figure 'speed'"],
    [['--rounds', 'many'], '--rounds takes a whole number'],
    [['--cores', '0'], '--cores takes a whole number'],
    [['--fast'], "Unknown option '--fast'"],
    [['--page-of', 'bench/result.json'], '--page-of takes the result.json of a page'],
  ])('%p ends with 2 and one line on stderr', async (args, words) => {
    const { code, stdout, stderr } = await bench(...args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^bench: [^\n]+\n$/);
    expect(stderr).toContain(words);
  });
});

test('--list names every figure and runs none', async () => {
  const { code, stdout } = await bench('--list');
  expect(code).toBe(0);
  expect(
    stdout
      .trim()
      .split('\n')
      .map((line) => line.split(' ')[0]),
  ).toEqual(FIGURES.map(({ id }) => id));
});

describeWithRedis('a quick run', () => {
  let out: string;

  beforeEach(() => {
    out = mkdtempSync(join(tmpdir(), 'postrider-bench-out-'));
  });
  afterEach(() => rmSync(out, { recursive: true, force: true }));

  test('measures what was asked for, writes result, page and plots, and exits by what came out', async () => {
    const { code, stdout, stderr } = await bench(
      '--quick',
      '--only',
      'record-event,drain,latency',
      '--out',
      out,
    );
    expect(stderr).toBe('');
    const result = readResult(join(out, 'benchmark', 'result.json'));
    expect(result).toMatchObject({
      quick: true,
      rounds: 1,
      command: 'npm run bench -- --only drain,latency,record-event --quick',
      figures: [
        { id: 'drain', status: 'measured' },
        { id: 'latency', status: 'measured' },
        { id: 'record-event', status: 'measured' },
      ],
    });
    const checks = result.figures.flatMap((figure) => figure.checks);
    expect(checks).toHaveLength(6);
    for (const check of checks) expect(check.holds).toBe(within(check));
    expect(result.holds).toBe(checks.every(within));
    expect(code).toBe(result.holds ? 0 : 1);

    const cpu = result.figures[0]?.values.filter(({ unit }) => unit === 'µs') ?? [];
    expect(cpu.map(({ name }) => name).filter((name) => name.startsWith('CPU per delivery'))).toEqual(
      ['relay, worker, Redis and Postgres', 'relay', 'worker', 'Postgres', 'Redis', 'receiver'].map(
        (name) => `CPU per delivery: ${name}`,
      ),
    );
    for (const { measured } of cpu) expect(measured.min).toBeGreaterThanOrEqual(0);

    const page = readFileSync(join(out, 'benchmark.md'), 'utf8');
    for (const check of checks) expect(page).toContain(check.name);
    expect(readdirSync(join(out, 'benchmark')).sort()).toEqual([
      'cpu-by-process.svg',
      'latency.svg',
      'result.json',
    ]);
    expect(stdout).toContain('drain: round 1 of 1');
  }, 180_000);

  test('measures received mail beside a bare smtp-server', async () => {
    const { stderr } = await bench('--quick', '--only', 'inbound,inbound-latency', '--out', out);
    expect(stderr).toBe('');
    const { figures } = readResult(join(out, 'benchmark', 'result.json'));
    expect(figures).toMatchObject([
      { id: 'inbound', status: 'measured' },
      { id: 'inbound-latency', status: 'measured' },
    ]);
    const values = figures.flatMap((figure) => figure.values);
    for (const name of ['20 KB: messages', '5 MB: messages', 'end of DATA to 250, p50']) {
      const beside = values.filter(
        ({ name: one }) => one.endsWith(name) || one === `${name}, bare smtp-server`,
      );
      expect(beside).toHaveLength(2);
      for (const { measured } of beside) expect(measured.min).toBeGreaterThan(0);
    }
  }, 180_000);

  test('tells the CPU of each layer around Express, and names why a dear one is there', async () => {
    const { stderr } = await bench('--quick', '--only', 'api-layers', '--out', out);
    expect(stderr).toBe('');
    const { figures } = readResult(join(out, 'benchmark', 'result.json'));
    expect(figures).toMatchObject([{ id: 'api-layers', status: 'measured' }]);
    expect(figures[0]?.checks).toHaveLength(1);
    expect(figures[0]?.tables[0]?.rows.map(([name]) => name)).toEqual(API_LAYERS.map(({ name }) => name));
    for (const { measured } of figures[0]?.values ?? []) expect(measured.min).toBeGreaterThan(0);
  }, 180_000);

  test('measures one worker on a core of its own, and mail through a slow provider beside bare nodemailer', async () => {
    const { stderr } = await bench('--quick', '--only', 'worker-ceiling,slow-provider', '--out', out);
    expect(stderr).toBe('');
    const { figures } = readResult(join(out, 'benchmark', 'result.json'));
    const checks = figures.map(({ id, checks: of }) => [id, of.length]);
    expect(checks).toEqual([
      ...(usableCores().length > 2 ? [['worker-ceiling', 1]] : []),
      ['slow-provider', 4],
    ]);
    for (const { measured } of figures.flatMap(({ values }) => values)) {
      expect(measured.min).toBeGreaterThan(0);
    }
  }, 180_000);

  test('with --cores runs on so many, and its page says so by name', async () => {
    const { stderr } = await bench('--quick', '--only', 'record-event', '--cores', '1', '--out', out);
    expect(stderr).toBe('');
    const result = readResult(join(out, 'benchmark-1-cores', 'result.json'));
    expect(result.command).toBe('npm run bench -- --only record-event --cores 1 --quick');
    expect(result.machine['cores']).toMatch(/^1 × /);
    expect(readFileSync(join(out, 'benchmark-1-cores.md'), 'utf8')).toContain('1 × ');
  }, 180_000);
});

function within({ aim, measured, judged }: Check): boolean {
  if (aim.bound === 'at most') return (judged === 'worst' ? measured.max : measured.median) <= aim.value;
  return (judged === 'worst' ? measured.min : measured.median) >= aim.value;
}
