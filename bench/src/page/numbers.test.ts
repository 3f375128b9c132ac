import { describe, expect, test } from '@jest/globals';
import { checkOf, valueOf } from '../result/result.ts';
import { aim, number, spread } from './numbers.ts';

test.each([
  [0, '0'],
  [0.01234, '0.012'],
  [0.999, '1.00'],
  [0.7, '0.70'],
  [1.305, '1.30'],
  [2, '2'],
  [45.24, '45.2'],
  [123.4, '123'],
  [1_000_000, '1,000,000'],
  [-3.14159, '-3.14'],
])('%p is written %p', (value, text) => {
  expect(number(value)).toBe(text);
});

describe('a measured value', () => {
  test('has its spread beside it', () => {
    expect(spread(valueOf('rate', '/s', [900, 1200, 1100]))).toBe('1,100/s (900 to 1,200)');
  });
  test('of a single run has none', () => {
    expect(spread(valueOf('memory', 'MiB', [17.5]))).toBe('17.5 MiB');
  });
});

describe('an aim', () => {
  test('says in which direction', () => {
    expect(aim(checkOf('a', '×', [1], { atMost: 1.5 }))).toBe('at most 1.50 ×');
    expect(aim(checkOf('a', '×', [1], { atLeast: 0.9 }))).toBe('at least 0.90 ×');
  });
  test('says that every round is judged', () => {
    expect(aim(checkOf('a', 'of 7', [0], { atMost: 0 }, 'worst'))).toBe('at most 0 of 7 in every round');
  });
});
