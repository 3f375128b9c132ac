import { describe, expect, test } from '@jest/globals';
import { median, quantile, quantilesInWords, slopeOf, spreadOf } from './statistics.ts';

describe('the median', () => {
  test('of an odd number is the one in the middle, whatever the order', () => {
    expect(median([9, 1, 5])).toBe(5);
  });
  test('of an even number is halfway between the two in the middle', () => {
    expect(median([10, 1, 2, 4])).toBe(3);
  });
});

describe('a spread', () => {
  test('has the ends and the number of its values', () => {
    expect(spreadOf([3, 1, 2])).toEqual({ median: 2, min: 1, max: 3, samples: 3 });
  });
  test.each([[[]], [[1, Number.NaN]]])('is not made of %p: nothing measured is not zero', (values) => {
    expect(() => spreadOf(values)).toThrow('nothing to take a median of');
  });
});

describe('a quantile', () => {
  const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
  test('is the value that its share of all does not exceed', () => {
    expect([quantile(hundred, 0.5), quantile(hundred, 0.99), quantile(hundred, 1)]).toEqual([50, 99, 100]);
  });
  test('of a few values is one of them', () => {
    expect([quantile([7], 0.99), quantile([1, 2], 0.5), quantile([1, 2], 0.51)]).toEqual([7, 1, 2]);
  });
});

test('p50 and p99 have the given number of digits', () => {
  const times = Array.from({ length: 100 }, (_, index) => index + 1.25);
  expect(quantilesInWords(times)).toBe('p50 50.3 ms, p99 99.3 ms');
  expect(quantilesInWords(times, 0)).toBe('p50 50 ms, p99 99 ms');
});

describe('a slope', () => {
  test('is that of the line', () => {
    expect(slopeOf([0, 1, 2, 3].map((x) => [x, 5 + 2 * x] as const))).toBe(2);
  });
  test('does not change with an outlier', () => {
    const points = Array.from({ length: 21 }, (_, x) => [x, x === 20 ? 1000 : 100] as const);
    expect(slopeOf(points)).toBe(0);
  });
  test('leaves out pairs with the same x', () => {
    expect(
      slopeOf([
        [1, 1],
        [1, 9],
        [2, 3],
        [2, 11],
      ]),
    ).toBe(2);
  });
});
