import { describe, expect, test } from '@jest/globals';
import { ByteBudget } from './byte-budget.ts';
import { MessageBuffer } from './message-buffer.ts';

const BLOCK = 64 * 1024;

describe('the bytes of a message', () => {
  test('come out as they went in, in pieces of any length', () => {
    const bytes = Buffer.from(Array.from({ length: 3 * BLOCK + 7 }, (_, index) => (index * 31) % 251));
    for (const piece of [1_000, BLOCK - 1, BLOCK, BLOCK + 1, bytes.length]) {
      const buffer = new MessageBuffer(new ByteBudget(4 * BLOCK));
      for (let from = 0; from < bytes.length; from += piece) {
        expect(buffer.append(bytes.subarray(from, from + piece))).toBe(true);
      }
      expect(buffer.join().equals(bytes)).toBe(true);
    }
  });

  test('are not those of a buffer that the caller uses again', () => {
    const buffer = new MessageBuffer(new ByteBudget(BLOCK));
    const bytes = Buffer.from('abc');
    buffer.append(bytes);
    bytes.fill('x');
    expect(buffer.join().toString()).toBe('abc');
  });
});

describe('the budget', () => {
  test('is taken block by block, and given back as a whole', () => {
    const budget = new ByteBudget(3 * BLOCK);
    const [one, two] = [new MessageBuffer(budget), new MessageBuffer(budget)];
    expect(one.append(Buffer.alloc(2 * BLOCK))).toBe(true);
    expect(two.append(Buffer.alloc(1))).toBe(true);
    expect(budget.available).toBe(0);
    expect(one.append(Buffer.alloc(1))).toBe(false);
    two.release();
    expect(budget.available).toBe(BLOCK);
    one.join();
    expect(budget.available).toBe(BLOCK);
    one.release();
    one.release();
    expect(budget.available).toBe(3 * BLOCK);
  });
});
