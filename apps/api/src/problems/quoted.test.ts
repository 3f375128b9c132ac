import { expect, test } from '@jest/globals';
import { quoted, shortened } from './quoted.ts';

test.each([
  ['a "b"\n\0', '"a \\"b\\"\\n\\u0000"'],
  ['\ud800', '"\\ud800"'],
  [null, 'null'],
  [[1, { a: [true] }], '[1,{"a":[true]}]'],
  [[[[[1]]]], '[[[…]]]'],
  [{}, '{}'],
])('%j reads as %s', (value, text) => {
  expect(quoted(value)).toBe(text);
});

test('a value may nest deeper than JSON.stringify can follow', () => {
  expect(quoted(JSON.parse('['.repeat(30_000) + ']'.repeat(30_000)))).toBe('[[[…]]]');
});

test('a long value is cut between two characters', () => {
  expect(quoted('😀'.repeat(200))).toBe(`"${'😀'.repeat(99)}…`);
  expect(quoted(Array.from({ length: 1_000 }, () => 'abcdefghij'))).toHaveLength(101);
  expect(shortened('x'.repeat(100))).toBe('x'.repeat(100));
  expect(shortened('x'.repeat(101))).toBe(`${'x'.repeat(100)}…`);
});

test('an ellipsis stands for the entries after the twentieth', () => {
  const numbers = Array.from({ length: 20 }, (_, n) => n);
  expect(quoted(numbers)).toBe(`[${numbers.join()}]`);
  expect(quoted([...numbers, 20])).toBe(`[${numbers.join()},…]`);
  const members = Array.from('abcdefghijklmnopqrstu', (name) => [name, 1] as const);
  expect(quoted(Object.fromEntries(members))).toMatch(/…$/);
});

test('what a terminal would obey is escaped', () => {
  expect(quoted('a\u007f\u009b\u2028\u202e\u2069b')).toBe('"a\\u007f\\u009b\\u2028\\u202e\\u2069b"');
  expect(shortened('a name\0\r\n')).toBe('a name\\u0000\\u000d\\u000a');
});

test('a number beyond all bounds is not called null', () => {
  expect(quoted(JSON.parse('1e999999'))).toBe('Infinity');
});
