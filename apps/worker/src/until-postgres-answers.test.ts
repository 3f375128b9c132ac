import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { StoreUnavailableError } from '@postrider/store';
import { untilPostgresAnswers } from './until-postgres-answers.ts';

const AWAY = new StoreUnavailableError(new Error('connect ECONNREFUSED'));

let startMs: number;
/** The time of each try, in ms from the start. */
let tries: number[];

beforeEach(() => {
  jest.useFakeTimers();
  startMs = performance.now();
  tries = [];
});
afterEach(() => void jest.useRealTimers());

/** Records under a lease of `leaseMs`. An error that `answer` throws is Postgres's answer to that try. */
async function recording(leaseMs: number, answer: (attempt: number) => string): Promise<unknown> {
  const recorded = untilPostgresAnswers(async () => {
    tries.push(Math.round(performance.now() - startMs));
    return answer(tries.length);
  }, startMs + leaseMs).catch((error: unknown) => error);
  await jest.advanceTimersByTimeAsync(60_000);
  return recorded;
}

function fail(error: Error): never {
  throw error;
}

test('an outcome is retried with growing pauses while Postgres is unavailable', async () => {
  expect(await recording(60_000, (attempt) => (attempt < 9 ? fail(AWAY) : 'recorded'))).toBe('recorded');
  expect(tries).toEqual([0, 50, 150, 350, 750, 1_550, 3_150, 5_150, 7_150]);
});

test('after the lease ends it is not retried, and the last error is thrown', async () => {
  expect(await recording(1_000, () => fail(AWAY))).toBe(AWAY);
  expect(tries).toEqual([0, 50, 150, 350, 750]);
});

test('an expired lease still gets one try: the fencing token decides', async () => {
  expect(await recording(-1, () => 'recorded')).toBe('recorded');
  expect(tries).toEqual([0]);
});

test('any other error is thrown at once', async () => {
  const fault = new Error('syntax error');
  expect(await recording(60_000, () => fail(fault))).toBe(fault);
  expect(tries).toEqual([0]);
});
