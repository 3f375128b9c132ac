import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { StartPacing } from './start-pacing.ts';

/** When work takes a second, it starts every 100 ms: 1.25 times as fast as slots free up. */
const SLOTS = 8;

let pacing: StartPacing;
let startedMs: number;

beforeEach(() => {
  jest.useFakeTimers();
  pacing = new StartPacing(SLOTS);
  startedMs = performance.now();
});
afterEach(() => void jest.useRealTimers());

/** Asks for `count` works at once. Each takes `tookMs`. @returns their start times, which grow as they start */
function ask(count: number, tookMs: number): number[] {
  const began: number[] = [];
  for (let n = 0; n < count; n += 1) {
    void pacing.run(async () => {
      began.push(10 * Math.round((performance.now() - startedMs) / 10));
      await new Promise((resolve) => setTimeout(resolve, tookMs));
    });
  }
  return began;
}

/** Runs work that takes a second, until the mean duration is a second. */
async function learnThatWorkTakesASecond(): Promise<void> {
  for (let n = 0; n < 10; n += 1) {
    ask(SLOTS, 1_000);
    await jest.advanceTimersByTimeAsync(10_000);
  }
  startedMs = performance.now();
}

test('work starts at once while no duration is known', async () => {
  const began = ask(3, 1_000);
  await jest.advanceTimersByTimeAsync(0);
  expect(began).toEqual([0, 0, 0]);
});

test('long work that ended together does not start together again', async () => {
  await learnThatWorkTakesASecond();
  const began = ask(SLOTS, 1_000);
  await jest.advanceTimersByTimeAsync(10_000);
  expect(began).toEqual([0, 100, 200, 300, 400, 500, 600, 700]);
});

test('work that comes later than its turn starts at once, and the next one a turn after it', async () => {
  await learnThatWorkTakesASecond();
  ask(1, 1_000);
  await jest.advanceTimersByTimeAsync(5_000);
  const began = ask(2, 1_000);
  await jest.advanceTimersByTimeAsync(1_000);
  expect(began).toEqual([5_000, 5_100]);
});

test('quick work does not wait', async () => {
  for (let n = 0; n < 10; n += 1) {
    ask(SLOTS, 5);
    await jest.advanceTimersByTimeAsync(100);
  }
  startedMs = performance.now();
  const began = ask(SLOTS, 5);
  await jest.advanceTimersByTimeAsync(3);
  expect(began).toHaveLength(SLOTS);
});

test('work that fails counts, and rejects', async () => {
  for (let n = 0; n < 80; n += 1) {
    const failed = pacing.run(
      () => new Promise((_, reject) => setTimeout(() => reject(new Error('away')), 1_000)),
    );
    const [result] = await Promise.all([
      failed.catch((error: unknown) => error),
      jest.advanceTimersByTimeAsync(2_000),
    ]);
    expect(result).toEqual(new Error('away'));
  }
  startedMs = performance.now();
  const began = ask(2, 0);
  await jest.advanceTimersByTimeAsync(1_000);
  expect(began).toEqual([0, 100]);
});
