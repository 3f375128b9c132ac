import { describe, expect, jest, test } from '@jest/globals';
import { BlockBuffer } from './block-buffer.ts';
import { ByteBudget } from './byte-budget.ts';

const BLOCK = 64 * 1024;

/** One owner may hold this many blocks: half of the three quarters that are shared. */
const budgetOf = (blocks: number) => new ByteBudget({ bytesMax: (blocks * BLOCK * 8) / 3, smallBytes: 0 });

describe('the bytes of a message', () => {
  test('come out as they went in, in pieces of any length', () => {
    const bytes = Buffer.from(Array.from({ length: 3 * BLOCK + 7 }, (_, index) => (index * 31) % 251));
    for (const piece of [1_000, BLOCK - 1, BLOCK, BLOCK + 1, bytes.length]) {
      const buffer = new BlockBuffer(budgetOf(4).open('a'));
      for (let from = 0; from < bytes.length; from += piece) {
        expect(buffer.append(bytes.subarray(from, from + piece))).toBe(true);
      }
      expect(buffer.join().equals(bytes)).toBe(true);
    }
  });

  test.each([
    [[]],
    [[0]],
    [[5, 0, 3]],
    [Array.from({ length: 300 }, () => 1)],
    [[70_000, 1, 140_000, 65_536]],
  ])('come out as they went in without a budget, in chunks of %p bytes', (sizes: number[]) => {
    const sent = Buffer.from(Array.from({ length: sizes.reduce((a, b) => a + b, 0) }, (_, at) => at % 251));
    const buffer = new BlockBuffer();
    let at = 0;
    for (const size of sizes) buffer.append(sent.subarray(at, (at += size)));
    expect(buffer.length).toBe(sent.length);
    expect(buffer.join().equals(sent)).toBe(true);
  });

  test('in chunks of one byte take few blocks', () => {
    const allocated = jest.spyOn(Buffer, 'allocUnsafe');
    const buffer = new BlockBuffer();
    const byte = Buffer.from('x');
    for (let n = 0; n < 10_000; n += 1) buffer.append(byte);
    const blocks = allocated.mock.calls.length;
    allocated.mockRestore();
    expect(buffer.length).toBe(10_000);
    expect(blocks).toBeLessThan(30);
  });

  test('are held once: joined, the blocks are dropped', () => {
    const buffer = new BlockBuffer();
    buffer.append(Buffer.from('abc'));
    expect(buffer.join().toString()).toBe('abc');
    expect(buffer.join()).toHaveLength(0);
  });

  test('are copied, so the caller may reuse its buffer', () => {
    const buffer = new BlockBuffer(budgetOf(1).open('a'));
    const bytes = Buffer.from('abc');
    buffer.append(bytes);
    bytes.fill('x');
    expect(buffer.join().toString()).toBe('abc');
  });
});

describe('the budget', () => {
  test('is taken block by block, and given back as a whole', () => {
    const budget = budgetOf(3);
    const hasSpace = (blocks: number) => budget.hasSpace('a', blocks * BLOCK);
    const [one, two] = [new BlockBuffer(budget.open('a')), new BlockBuffer(budget.open('a'))];
    expect(one.append(Buffer.alloc(2 * BLOCK))).toBe(true);
    expect(two.append(Buffer.alloc(1))).toBe(true);
    expect(one.append(Buffer.alloc(1))).toBe(false);
    two.release();
    expect([hasSpace(2), hasSpace(3)]).toEqual([true, false]);
    one.join();
    expect(hasSpace(3)).toBe(false);
    one.release();
    one.release();
    expect(hasSpace(3)).toBe(true);
  });
});
