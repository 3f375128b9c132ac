import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { describeWithRedis } from '@postrider/testing';
import { runBench, setupResults } from '../test/run-bench.ts';
import { MECHANISMS } from './ablation/mechanisms.ts';
import { FIGURES } from './registry.ts';
import { readResult } from './publish.ts';
import type { Check } from './result/result.ts';

/* Runs the tool with small sizes. Tests that it works, not how fast the product is. */

describe('wrong input', () => {
  test.each([
    [['--only', 'speed'], "there is no figure 'speed'"],
    [['--page-of', 'bench/result.json'], '--page-of takes the result.json of a page'],
  ])('%p ends with 2 and one line on stderr', async (args, words) => {
    const { code, stdout, stderr } = await runBench(...args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^bench: [^\n]+\n$/);
    expect(stderr).toContain(words);
  });
});

test('--list names every figure and every mechanism, and runs none', async () => {
  const { code, stdout } = await runBench('--list');
  expect(code).toBe(0);
  const [figures, mechanisms] = stdout.split('\nmechanisms, for --without\n').map((list) =>
    list
      .trim()
      .split('\n')
      .map((line) => line.split(' ')[0]),
  );
  expect(figures).toEqual(FIGURES.map(({ id }) => id));
  expect(mechanisms).toEqual(Object.keys(MECHANISMS));
});

describeWithRedis('a quick run', () => {
  const results = setupResults();

  test('measures what was asked for, writes result, page and plots, and exits by what came out', async () => {
    const { code, stdout, stderr } = await runBench(
      '--quick',
      '--only',
      'record-event,drain,latency',
      '--out',
      results.path(),
    );
    expect(stderr).toBe('');
    const result = readResult(results.path('benchmark', 'result.json'));
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

    const page = readFileSync(results.path('benchmark.md'), 'utf8');
    for (const check of checks) expect(page).toContain(check.name);
    expect(readdirSync(results.path('benchmark')).sort()).toEqual([
      'cpu-by-process.svg',
      'latency.svg',
      'result.json',
    ]);
    expect(stdout).toContain('drain: round 1 of 1');
  }, 180_000);

  test('with --cores runs on so many, without the mechanism of --without, and its page says so', async () => {
    const { stderr } = await runBench(
      '--quick',
      '--only',
      'record-event',
      '--cores',
      '1',
      '--without',
      'rest',
      '--out',
      results.path(),
    );
    expect(stderr).toBe('');
    const result = readResult(results.path('benchmark-1-cores', 'result.json'));
    expect(result.command).toBe('npm run bench -- --only record-event --cores 1 --quick --without rest');
    expect(result.machine['cores']).toMatch(/^1 × /);
    expect(readFileSync(results.path('benchmark-1-cores.md'), 'utf8')).toContain('1 × ');
  }, 180_000);
});

function within({ aim, measured, judged }: Check): boolean {
  if (aim.bound === 'at most') return (judged === 'worst' ? measured.max : measured.median) <= aim.value;
  return (judged === 'worst' ? measured.min : measured.median) >= aim.value;
}
