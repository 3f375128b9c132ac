import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { ExperimentResult } from '../harness/run-experiment.ts';
import { NEIGHBOUR_RATIO_MAX } from '../harness/rules.ts';
import { TIMES_ENVIRONMENT } from '../harness/times.ts';
import { publish } from './publish.ts';
import type { TortureResult } from './result.ts';
import { linesOf } from './terminal.ts';

const HELD: ExperimentResult = {
  number: 8,
  title: 'FLUSHALL <once> a second',
  shows: 'nothing is lost',
  seed: 7,
  passed: true,
  seconds: 42,
  figures: {
    events: 100,
    deliveries: 200,
    requests: 203,
    faults: 30,
    lost: 0,
    deadLetters: 4,
    duplicates: 3,
    inFlightAtFaults: 12,
    causesWithoutEvents: 0,
    eventsWithoutCauses: 0,
    recoveryMs: 4_321,
  },
  faults: [{ name: 'FLUSHALL', inFlight: [1, 2] }],
  use: [
    { what: 'memory of a worker', unit: 'MiB', most: 150.2, max: 512 },
    { what: 'connections to Postgres', unit: 'connections', most: 8, max: 10 },
  ],
  comparesNeighbours: false,
  claims: [],
  violations: [],
  error: null,
};
const FAILED: ExperimentResult = {
  ...HELD,
  passed: false,
  error: 'it took too long',
  claims: [{ text: 'it exits 0', held: false, saw: '1' }],
  violations: Array.from({ length: 20 }, () => ({
    invariant: 'I1' as const,
    key: 'evt_1 wh_1' as const,
    text: 'is lost',
  })),
};

describe('on the terminal', () => {
  test('an experiment that held is one line with its figures', () => {
    expect(linesOf(HELD)).toEqual([
      '8 held in 42.0 s: events 100, deliveries 200, requests 203, faults 30, lost 0, dead letters 4, duplicates 3 of 12 in flight, ' +
        'causes without events 0, events without causes 0, recovery 4.3 s',
    ]);
  });

  test('one that failed says why, names the first offenders, and how to see it again', () => {
    const lines = linesOf(FAILED);
    expect(lines).toContain('    error: it took too long');
    expect(lines).toContain('    not so: it exits 0 (saw: 1)');
    expect(lines.filter((line) => line.includes('evt_1 wh_1'))).toHaveLength(8);
    expect(lines).toContain('    and 12 violations more');
    expect(lines.at(-1)).toBe('    again: npm run torture -- --only 8 --seed 7');
  });
});

describe('published', () => {
  let folder: string;
  beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'postrider-report-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  test('the page shows every figure and both plots, and the result can be read back', () => {
    const result: TortureResult = {
      command: 'npm run torture -- --minutes 12 --percent 5 --publish',
      seed: 7,
      percent: 5,
      chosen: 3,
      passed: false,
      minutes: 12,
      machine: {
        cores: 2,
        coresInAll: 4,
        cpu: 'Some CPU',
        memoryGib: 8,
        platform: 'Linux 6.1 x64',
        node: 'v24.0.0',
        finishedAt: '2026-01-02T03:04:05.678Z',
      },
      notRun: [
        { number: 23, title: 'a clock', why: 'there is no such tool' },
        { number: 32, title: 'a crowd', why: 'it is long' },
      ],
      experiments: [
        HELD,
        {
          ...FAILED,
          number: 9,
          comparesNeighbours: true,
          figures: null,
          use: [{ what: 'memory of a worker', unit: 'MiB', most: 300.5, max: 512 }],
        },
      ],
    };
    publish(result, folder);
    const page = readFileSync(join(folder, 'torture.md'), 'utf8');
    expect(page).toContain('1 of 3 chosen experiments held.** **1 did not run, because the time was over.**');
    expect(page).toContain('with 5 % of every count');
    expect(page).toContain('The command: `npm run torture -- --minutes 12 --percent 5 --publish`');
    expect(page).toMatch(
      /\| +8 \| FLUSHALL <once> a second \| +100 \| +200 \| +203 \| +30 \| +0 \| +4 \| +3 \| +12 \|/,
    );
    expect(page).toContain('**no**');
    expect(page).toContain('- 23, a clock: there is no such tool.\n- 32, a crowd: it is long.\n');
    expect(page).toContain('experiment 9 made such a comparison');
    expect(page).toContain(`p99 at most ${NEIGHBOUR_RATIO_MAX} times`);
    for (const [name, value] of Object.entries(TIMES_ENVIRONMENT)) {
      expect(page).toContain(`\n${name}=${value}\n`);
    }
    expect(page).toMatch(/\| memory of a worker +\| +301 MiB \| +512 MiB \| +9 \|/);
    expect(page).toMatch(/\| connections to Postgres +\| +8 connections \| +10 connections \| +8 \|/);
    for (const [, file] of page.matchAll(/!\[.*?\]\((.*?)\)/g)) {
      expect(readFileSync(join(folder, String(file)), 'utf8')).toContain('FLUSHALL &lt;once&gt;');
    }
    expect(readdirSync(join(folder, 'torture')).sort()).toEqual([
      'recovery.svg',
      'repeats.svg',
      'result.json',
    ]);
    expect(JSON.parse(readFileSync(join(folder, 'torture', 'result.json'), 'utf8'))).toEqual(result);
  });
});
