import { expect, test } from '@jest/globals';
import { table } from './table.ts';

test('columns are as wide as their widest cell', () => {
  expect(
    table(
      ['figure', 'x'],
      [
        ['CPU', '1.5 ×'],
        ['rate', ''],
      ],
    ).split('\n'),
  ).toEqual(['| figure | x     |', '| ------ | ----- |', '| CPU    | 1.5 × |', '| rate   |       |']);
});

test('a cell cannot break its row', () => {
  expect(table(['a'], [['x | y\nz']])).toContain('| x \\| y z |');
});
