import { expect, test } from '@jest/globals';
import { failureRunAfter, isFailing } from './endpoint-health.ts';
import type { FailureRun } from './endpoint-health.ts';

/** The run after attempts that start `everyMs` apart and take 10 ms each; and whether each made the endpoint fail. */
function after(
  outcomes: readonly boolean[],
  everyMs: number,
): { run: FailureRun | null; failing: boolean[] } {
  let run: FailureRun | null = null;
  const failing = outcomes.map((succeeded, index) => {
    const endedAtMs = index * everyMs + 10;
    run = failureRunAfter(run, { succeeded, startedAtMs: index * everyMs, endedAtMs });
    return run !== null && isFailing(run, endedAtMs);
  });
  return { run, failing };
}

const failures = (count: number) => Array.from({ length: count }, () => false);

test('an endpoint fails with the fourth failure in a row', () => {
  expect(after(failures(5), 30_000).failing).toEqual([false, false, false, true, true]);
});

test('failures within less than five seconds are not enough, however many', () => {
  expect(after(failures(500), 9).failing).not.toContain(true);
  expect(after(failures(600), 9).failing.at(-1)).toBe(true);
});

test('attempts that wait for five seconds together count from their start', () => {
  let run: FailureRun | null = null;
  for (let n = 0; n < 4; n += 1)
    run = failureRunAfter(run, { succeeded: false, startedAtMs: 0, endedAtMs: 5_000 });
  expect(run !== null && isFailing(run, 5_000)).toBe(true);
});

test('one success ends the run', () => {
  const { run, failing } = after([...failures(6), true, ...failures(3)], 30_000);
  expect(failing.slice(6)).toEqual([false, false, false, false]);
  expect(run).toEqual({ count: 3, startedAtMs: 210_000 });
});

test('an endpoint that fails half of the time is not failing', () => {
  const outcomes = Array.from({ length: 3_000 }, (_, index) => index % 16 > 7);
  expect(after(outcomes, 7).failing).not.toContain(true);
});
