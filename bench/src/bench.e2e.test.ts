import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { describeWithRedis, DIST, runNode, runs } from '@postrider/testing';
import type { EndedProcess } from '@postrider/testing';
import { MECHANISMS } from './ablation/mechanisms.ts';
import { API_LAYERS } from './load/api-layers.ts';
import { FIGURES } from './registry.ts';
import { readResult } from './publish.ts';
import type { Check, Result } from './result/result.ts';

/*
 * Runs the tool with small sizes. Tests that the tool works, not how fast the product is. The long run
 * measures more figures, and tests their results.
 */

const IS_LONG = runs({ usual: 0, long: 1 }) === 1;
const MORE_IN_LONG = ['api-layers', 'slow-provider', 'inbound', 'inbound-latency'];
const ASKED = [
  ...['drain', 'latency', 'record-event', 'api-layers', 'slow-provider'],
  ...['inbound', 'inbound-latency'],
].filter((id) => IS_LONG || !MORE_IN_LONG.includes(id));

/** Runs the tool from its bundle. */
const runBench = (...args: string[]) => runNode([join(DIST, 'bench.js'), ...args]);

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
  let folder: string;
  let ended: EndedProcess;
  let result: Result;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'postrider-bench-out-'));
    ended = await runBench('--quick', '--only', [...ASKED].reverse().join(), '--out', folder);
    expect(ended.stderr).toBe('');
    result = readResult(join(folder, 'benchmark', 'result.json'));
  }, 600_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** In the order of the page. */
  const figures = (...ids: string[]) => result.figures.filter(({ id }) => ids.includes(id));

  test('measures what was asked for, writes result, page and plots, and exits by what came out', () => {
    const { code, stdout } = ended;
    expect(result).toMatchObject({
      quick: true,
      rounds: 1,
      command: `npm run bench -- --only ${ASKED.join()} --quick`,
      figures: ASKED.map((id) => ({ id, status: 'measured' })),
    });
    const checks = result.figures.flatMap((figure) => figure.checks);
    for (const check of checks) expect(check.holds).toBe(within(check));
    expect(result.holds).toBe(checks.every(within));
    expect(code).toBe(result.holds ? 0 : 1);

    const page = readFileSync(join(folder, 'benchmark.md'), 'utf8');
    for (const check of checks) expect(page).toContain(check.name);
    expect(readdirSync(join(folder, 'benchmark')).sort()).toEqual([
      'cpu-by-process.svg',
      'latency.svg',
      'result.json',
    ]);
    expect(stdout).toContain('drain: round 1 of 1');
  });

  test('judges the rate, the CPU and the latency of deliveries, and tells the CPU of each process', () => {
    const [drain, ...others] = figures('drain', 'latency', 'record-event');
    expect([drain, ...others].flatMap((figure) => figure?.checks)).toHaveLength(6);
    const cpu = drain?.values.filter(({ unit }) => unit === 'µs') ?? [];
    expect(cpu.map(({ name }) => name).filter((name) => name.startsWith('CPU per delivery'))).toEqual(
      ['relay, worker, Redis and Postgres', 'relay', 'worker', 'Postgres', 'Redis', 'receiver'].map(
        (name) => `CPU per delivery: ${name}`,
      ),
    );
    for (const { measured } of cpu) expect(measured.min).toBeGreaterThanOrEqual(0);
  });

  if (IS_LONG) {
    test('tells the CPU of each layer around Express, and names why a dear one is there', () => {
      const [layers] = figures('api-layers');
      expect(layers?.checks).toHaveLength(1);
      expect(layers?.tables[0]?.rows.map(([name]) => name)).toEqual(API_LAYERS.map(({ name }) => name));
      for (const { measured } of layers?.values ?? []) expect(measured.min).toBeGreaterThan(0);
    });

    test('measures mail through a slow provider beside bare nodemailer', () => {
      const [slowProvider] = figures('slow-provider');
      expect(slowProvider?.checks).toHaveLength(4);
      for (const { measured } of slowProvider?.values ?? []) expect(measured.min).toBeGreaterThan(0);
    });

    test('measures received mail beside a bare smtp-server', () => {
      const values = figures('inbound', 'inbound-latency').flatMap((figure) => figure.values);
      for (const name of ['20 KB: messages', '5 MB: messages', 'end of DATA to 250, p50']) {
        const beside = values.filter(
          ({ name: one }) => one.endsWith(name) || one === `${name}, bare smtp-server`,
        );
        expect(beside).toHaveLength(2);
        for (const { measured } of beside) expect(measured.min).toBeGreaterThan(0);
      }
    });
  }

  test('with --cores runs on so many, without the mechanism of --without, and its page says so', async () => {
    const wish = ['--only', 'record-event', '--cores', '1', '--quick', '--without', 'rest'];
    const { stderr } = await runBench(...wish, '--out', folder);
    expect(stderr).toBe('');
    const { command, machine } = readResult(join(folder, 'benchmark-1-cores', 'result.json'));
    expect(command).toBe(`npm run bench -- ${wish.join(' ')}`);
    expect(machine['cores']).toMatch(/^1 × /);
    expect(readFileSync(join(folder, 'benchmark-1-cores.md'), 'utf8')).toContain('1 × ');
  }, 180_000);
});

function within({ aim, measured, judged }: Check): boolean {
  if (aim.bound === 'at most') return (judged === 'worst' ? measured.max : measured.median) <= aim.value;
  return (judged === 'worst' ? measured.min : measured.median) >= aim.value;
}
