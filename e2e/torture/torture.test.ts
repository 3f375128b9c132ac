import { expect, test } from '@jest/globals';
import type { Experiment } from './harness/experiment.ts';
import { experimentsNotRun } from './torture.ts';

const experiments = [1, 2, 3, 32].map((number): Experiment => ({
  number,
  title: `number ${number}`,
  shows: '',
  runs: number === 32 ? 'long' : 'ci',
  run: () => Promise.resolve(),
}));

test('each experiment that did not run is named with the reason', () => {
  const skipped = [{ number: 2, title: 'number 2', why: 'there is no such tool' }];
  const chosen = experiments.filter(({ number }) => number === 1 || number === 3);
  const results = [{ number: 1 }];
  const reasons = (only: readonly number[] | null, ran: typeof results): (string | number)[][] =>
    experimentsNotRun({ only }, experiments, { chosen, skipped, results: ran }).map(({ number, why }) => [
      number,
      why,
    ]);
  expect(reasons(null, results)).toEqual([
    [2, 'there is no such tool'],
    [3, 'the time was over'],
    [32, 'it is long, and runs with `--long`'],
  ]);
  expect(reasons([1, 2, 3], [...results, { number: 3 }])).toEqual([
    [2, 'there is no such tool'],
    [32, 'it is not among `--only`'],
  ]);
});
