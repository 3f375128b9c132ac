import { expect, test } from '@jest/globals';
import { markdownTable } from './markdown-table.ts';

test('columns are as wide as their widest cell', () => {
  expect(
    markdownTable(
      ['figure', 'x'],
      [
        ['CPU', '1.5 ×'],
        ['rate', ''],
      ],
    ).split('\n'),
  ).toEqual(['| figure | x     |', '| ------ | ----- |', '| CPU    | 1.5 × |', '| rate   |       |']);
});

test('a column can be aligned to the right', () => {
  expect(
    markdownTable(
      ['#', 'what'],
      [
        ['10', 'a'],
        ['7', 'b'],
      ],
      [0],
    ).split('\n'),
  ).toEqual(['|   # | what |', '| --: | ---- |', '|  10 | a    |', '|   7 | b    |']);
});

test('a cell cannot break its row', () => {
  expect(markdownTable(['a'], [['x | y\nz']])).toContain('| x \\| y z |');
});
