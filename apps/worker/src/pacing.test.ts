import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { createPacing } from './pacing.ts';

/** When work takes a second, it starts every 100 ms: 1.25 times as fast as slots free up. */
const SLOTS = 8;

let paced: ReturnType<typeof createPacing>;
let startedMs: number;

beforeEach(() => {
  jest.useFakeTimers();
  paced = createPacing({ slots: SLOTS, nowMs: () => Date.now() });
  startedMs = Date.now();
});
afterEach(() => void jest.useRealTimers());

/** Asks for `count` works at once. Each takes `tookMs`. @returns their start times, which grow as they start */
function ask(count: number, tookMs: number): number[] {
  const began: number[] = [];
  for (let n = 0; n < count; n += 1) {
    void paced(async () => {
      began.push(Date.now() - startedMs);
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
  startedMs = Date.now();
}

test('work starts at once while no duration is known', async () => {
  const began = ask(3, 1_000);
  await jest.advanceTimersByTimeAsync(0);
  expect(began).toEqual([0, 0, 0]);
});

test('long work that started together does not start together again', async () => {
  await learnThatWorkTakesASecond();
  const began = ask(SLOTS, 1_000);
  await jest.advanceTimersByTimeAsync(10_000);
  expect(began).toEqual([0, 100, 200, 300, 400, 500, 600, 700]);
});

test('starts that a busy event loop missed are caught up', async () => {
  await learnThatWorkTakesASecond();
  const began = ask(5, 1_000);
  await jest.advanceTimersByTimeAsync(100);
  jest.setSystemTime(Date.now() + 40);
  await jest.advanceTimersByTimeAsync(1_000);
  expect(began).toEqual([0, 100, 240, 300, 400]);
});

test('quick work does not wait', async () => {
  for (let n = 0; n < 10; n += 1) {
    ask(SLOTS, 5);
    await jest.advanceTimersByTimeAsync(100);
  }
  startedMs = Date.now();
  const began = ask(SLOTS, 5);
  await jest.advanceTimersByTimeAsync(0);
  expect(began).toEqual(Array(SLOTS).fill(0));
});

test('waiting work starts sooner when work becomes quick', async () => {
  await learnThatWorkTakesASecond();
  const began = ask(4 * SLOTS, 0);
  await jest.advanceTimersByTimeAsync(1_000);
  expect(began).toHaveLength(4 * SLOTS);
  expect(began.at(-1)).toBeLessThan((4 * SLOTS - 1) * 100);
});

test('work that fails counts, and rejects', async () => {
  for (let n = 0; n < 80; n += 1) {
    const failed = paced(
      () => new Promise((_, reject) => setTimeout(() => reject(new Error('away')), 1_000)),
    );
    const [result] = await Promise.all([
      failed.catch((error: unknown) => error),
      jest.advanceTimersByTimeAsync(2_000),
    ]);
    expect(result).toEqual(new Error('away'));
  }
  startedMs = Date.now();
  const began = ask(2, 0);
  await jest.advanceTimersByTimeAsync(1_000);
  expect(began).toEqual([0, 100]);
});
