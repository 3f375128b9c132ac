import { expect, test } from '@jest/globals';
import { readArguments } from './arguments.ts';

test('without arguments: the experiments for CI, 40 minutes, some seed', () => {
  const { seed, ...rest } = readArguments([]);
  expect(rest).toEqual({
    command: 'npm run torture',
    list: false,
    long: false,
    publish: false,
    only: null,
    minutes: 40,
    percent: 100,
    outFolder: '.data/torture',
  });
  expect(Number.isInteger(seed)).toBe(true);
});

test('takes the experiments, the seed and the time that it is given', () => {
  const args = [
    '--only',
    '3,5',
    '--seed',
    '7',
    '--minutes',
    '9',
    '--percent',
    '5',
    '--out',
    'somewhere',
    '--publish',
  ];
  expect(readArguments(args)).toMatchObject({
    command: 'npm run torture -- --only 3,5 --seed 7 --minutes 9 --percent 5 --out somewhere --publish',
    only: [3, 5],
    seed: 7,
    minutes: 9,
    percent: 5,
    outFolder: 'somewhere',
    publish: true,
  });
});

test('the long experiments have more time', () => {
  expect(readArguments(['--long'])).toMatchObject({ long: true, minutes: 600 });
});

test.each([
  [['--only', '3;5'], '--only takes whole numbers, not "3;5"'],
  [['--seed', 'x'], '--seed takes whole numbers, not "x"'],
  [['--minutes', '1e9'], '--minutes takes whole numbers, not "1e9"'],
  [['--unknown'], '--unknown'],
  [['3'], "'3'"],
])('refuses %j', (args, message) => {
  expect(() => readArguments(args)).toThrow(message);
});
