import { expect, test } from '@jest/globals';
import { table } from './print.ts';

test('a column of a table is as wide as its cells with their escapes', () => {
  const rows = [
    ['a\u001bb', '1'],
    ['ada', '2'],
  ];
  expect(table(['WHO', 'N'], rows)).toEqual(['WHO       N', 'a\\u{1b}b  1', 'ada       2']);
});
