import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { grouped } from './grouped.ts';

let call: (item: string) => Promise<string>;
/** The batches so far, in order. */
let batches: (readonly string[])[];
/** End the running batch. */
let end: () => Promise<void>;
let fail: (error: Error) => Promise<void>;

beforeEach(() => {
  jest.useFakeTimers();
  batches = [];
  const run = (items: readonly string[]) => {
    batches.push(items);
    return new Promise<string[]>((resolve, reject) => {
      end = async () => settled(() => resolve(items.map((item) => item.toUpperCase())));
      fail = async (error) => settled(() => reject(error));
    });
  };
  call = grouped(run);
});
afterEach(() => void jest.useRealTimers());

const elapse = async (ms: number) => jest.advanceTimersByTimeAsync(ms);

async function settled(action: () => void): Promise<void> {
  action();
  await elapse(0);
}

/** One call per letter, all before the event loop continues. */
async function addAll(letters: string): Promise<string[]> {
  return Promise.all(letters.split('').map(async (letter) => call(letter)));
}

test('a single call runs at once, also after another one has ended', async () => {
  const first = call('a');
  await elapse(0);
  expect(batches).toEqual([['a']]);
  await end();
  expect(await first).toBe('A');
  void call('b');
  await elapse(0);
  expect(batches).toEqual([['a'], ['b']]);
});

test('calls that arrive together share a batch, and each gets its own result', async () => {
  const calls = addAll('cab');
  await elapse(0);
  expect(batches).toEqual([['c', 'a', 'b']]);
  await end();
  expect(await calls).toEqual(['C', 'A', 'B']);
});

test('calls that arrive during a batch form the next batch', async () => {
  void addAll('a');
  await elapse(0);
  void addAll('b');
  await elapse(60_000);
  void addAll('c');
  expect(batches).toEqual([['a']]);
  await end();
  expect(batches).toEqual([['a'], ['b', 'c']]);
});

test('a batch has at most 200 items, and the rest follows in order', async () => {
  const letters = 'abcdefghijklmnopqrstuvwx'.repeat(20);
  const calls = addAll(letters);
  for (let batch = 0; batch < 3; batch += 1) {
    await elapse(0);
    await end();
  }
  expect(batches.map((batch) => batch.length)).toEqual([200, 200, 80]);
  expect((await calls).join('')).toBe(letters.toUpperCase());
});

test('a rejection rejects only the calls of its batch', async () => {
  const failed = Promise.allSettled([call('a'), call('b')]);
  await elapse(0);
  const next = call('c');
  const error = new Error('away');
  await fail(error);
  expect(await failed).toEqual([
    { status: 'rejected', reason: error },
    { status: 'rejected', reason: error },
  ]);
  await end();
  expect(await next).toBe('C');
});
