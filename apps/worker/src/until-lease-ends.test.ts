import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { StoreUnavailableError } from '@postrider/store';
import { untilLeaseEnds } from './until-lease-ends.ts';

const AWAY = new StoreUnavailableError(new Error('connect ECONNREFUSED'));

let startMs: number;
/** When each try was made, in ms from the start. */
let tries: number[];

beforeEach(() => {
  jest.useFakeTimers();
  startMs = performance.now();
  tries = [];
});
afterEach(() => void jest.useRealTimers());

/** Records under a lease of so many ms; what `answer` throws is what Postgres says to that try. */
async function recording(leaseMs: number, answer: (attempt: number) => string): Promise<unknown> {
  const recorded = untilLeaseEnds(startMs + leaseMs, async () => {
    tries.push(Math.round(performance.now() - startMs));
    return answer(tries.length);
  }).catch((error: unknown) => error);
  await jest.advanceTimersByTimeAsync(60_000);
  return recorded;
}

function fail(error: Error): never {
  throw error;
}

test('while Postgres is away it is tried again, ever more seldom, until it is recorded', async () => {
  expect(await recording(60_000, (attempt) => (attempt < 9 ? fail(AWAY) : 'recorded'))).toBe('recorded');
  expect(tries).toEqual([0, 50, 150, 350, 750, 1_550, 3_150, 5_150, 7_150]);
});

test('once the lease is over it is not tried again: the last error is thrown', async () => {
  expect(await recording(1_000, () => fail(AWAY))).toBe(AWAY);
  expect(tries).toEqual([0, 50, 150, 350, 750]);
});

test('a lease that is over already still gets one try: the fence decides', async () => {
  expect(await recording(-1, () => 'recorded')).toBe('recorded');
  expect(tries).toEqual([0]);
});

test('any other error is thrown at once', async () => {
  const fault = new Error('syntax error');
  expect(await recording(60_000, () => fail(fault))).toBe(fault);
  expect(tries).toEqual([0]);
});
