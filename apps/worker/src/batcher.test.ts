import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { createBatcher } from './batcher.ts';
import type { Batcher } from './batcher.ts';

const SIZE_MAX = 6;

let batcher: Batcher<string, string>;
/** The batches so far, in order, and what ends the one under way. */
let batches: (readonly string[])[];
let end: () => Promise<void>;
let fail: (error: Error) => Promise<void>;

beforeEach(() => {
  jest.useFakeTimers();
  batches = [];
  batcher = createBatcher<string, string>({
    sizeMax: SIZE_MAX,
    run(items) {
      batches.push(items);
      return new Promise((resolve, reject) => {
        end = async () => settled(() => resolve(items.map((item) => item.toUpperCase())));
        fail = async (error) => settled(() => reject(error));
      });
    },
  });
});
afterEach(() => void jest.useRealTimers());

const elapse = async (ms: number) => jest.advanceTimersByTimeAsync(ms);

async function settled(action: () => void): Promise<void> {
  action();
  await elapse(0);
}

/** One call for each letter, all in this turn. */
async function addAll(letters: string): Promise<string[]> {
  return Promise.all(letters.split('').map(async (letter) => batcher.add(letter)));
}

test('a call that comes alone goes at once, again after the first has ended', async () => {
  const first = batcher.add('a');
  await elapse(0);
  expect(batches).toEqual([['a']]);
  await end();
  expect(await first).toBe('A');
  void batcher.add('b');
  await elapse(0);
  expect(batches).toEqual([['a'], ['b']]);
});

test('calls that arrive together go together, and each gets its own result', async () => {
  const calls = addAll('cab');
  await elapse(0);
  expect(batches).toEqual([['c', 'a', 'b']]);
  await end();
  expect(await calls).toEqual(['C', 'A', 'B']);
});

test('what comes while a batch is under way waits for its end and goes together', async () => {
  void addAll('a');
  await elapse(0);
  void addAll('b');
  await elapse(60_000);
  void addAll('c');
  expect(batches).toEqual([['a']]);
  await end();
  expect(batches).toEqual([['a'], ['b', 'c']]);
});

test('after a large batch the next one gathers for a while', async () => {
  void addAll('abcd');
  await elapse(0);
  void addAll('e');
  await end();
  await elapse(7);
  expect(batches).toHaveLength(1);
  void addAll('f');
  await elapse(1);
  expect(batches.at(-1)).toEqual(['e', 'f']);
});

test('a batch that is full gathers no longer', async () => {
  void addAll('abcd');
  await elapse(0);
  void addAll('e');
  await end();
  void addAll('fghij');
  await elapse(0);
  expect(batches.at(-1)).toEqual(['e', 'f', 'g', 'h', 'i', 'j']);
});

test('after a small batch the next one does not wait', async () => {
  void addAll('abc');
  await elapse(0);
  void addAll('d');
  await end();
  expect(batches.at(-1)).toEqual(['d']);
});

test('a batch has no more items than it may, and those left over follow in order', async () => {
  const calls = addAll('abcdefghijklmn');
  await elapse(0);
  await end();
  await elapse(8);
  await end();
  await elapse(8);
  await end();
  expect(batches.map((batch) => batch.join(''))).toEqual(['abcdef', 'ghijkl', 'mn']);
  expect((await calls).join('')).toBe('ABCDEFGHIJKLMN');
});

test('a rejection rejects the calls of its batch only, and the next batch goes on', async () => {
  const failed = Promise.allSettled([batcher.add('a'), batcher.add('b')]);
  await elapse(0);
  const next = batcher.add('c');
  const error = new Error('away');
  await fail(error);
  expect(await failed).toEqual([
    { status: 'rejected', reason: error },
    { status: 'rejected', reason: error },
  ]);
  await end();
  expect(await next).toBe('C');
});
