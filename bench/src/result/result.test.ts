import { describe, expect, test } from '@jest/globals';
import { checkOf, figureHolds, judging } from './result.ts';

const holds = (...parameters: Parameters<typeof checkOf>) => checkOf(...parameters).holds;

describe('an aim', () => {
  test('of at most something is reached up to and with its value, by the median', () => {
    expect(holds('CPU', '×', [9, 1.5, 1], { atMost: 1.5 })).toBe(true);
    expect(holds('CPU', '×', [9, 1.51, 1], { atMost: 1.5 })).toBe(false);
  });
  test('of at least something is reached from its value on, by the median', () => {
    expect(holds('rate', '×', [0.1, 0.5, 1], { atLeast: 0.5 })).toBe(true);
    expect(holds('rate', '×', [0.1, 0.49, 1], { atLeast: 0.5 })).toBe(false);
  });
  test('that is judged by the worst fails by one round', () => {
    expect(holds('starving', 'endpoints', [0, 1, 0], { atMost: 0 }, 'worst')).toBe(false);
    expect(holds('rate', '×', [0.9, 0.4, 0.9], { atLeast: 0.5 }, 'worst')).toBe(false);
    expect(holds('rate', '×', [0.9, 0.5, 0.9], { atLeast: 0.5 }, 'worst')).toBe(true);
  });
});

test('checks and values are made of the same number of each round', () => {
  const { check, value } = judging([{ ms: 3 }, { ms: 1 }, { ms: 2 }]);
  const ms = ({ ms: each }: { ms: number }) => each;
  expect(value('time', 'ms', ms).measured).toEqual({ median: 2, min: 1, max: 3, samples: 3 });
  expect(check('time', 'ms', { atMost: 2 }, ms)).toMatchObject({ judged: 'median', holds: true });
  expect(check('time', 'ms', { atMost: 2, judged: 'worst' }, ms)).toMatchObject({
    judged: 'worst',
    holds: false,
  });
});

describe('a figure', () => {
  const reached = checkOf('a', '×', [1], { atMost: 1 });
  const missed = checkOf('b', '×', [2], { atMost: 1 });
  test('holds when every aim is reached', () => {
    expect(figureHolds({ status: 'measured', checks: [reached, reached] })).toBe(true);
    expect(figureHolds({ status: 'measured', checks: [reached, missed] })).toBe(false);
  });
  test('without an aim does not hold', () => {
    expect(figureHolds({ status: 'measured', checks: [] })).toBe(false);
  });
  test('that was not measured does not hold', () => {
    expect(figureHolds({ status: 'not measured', checks: [reached] })).toBe(false);
  });
});
