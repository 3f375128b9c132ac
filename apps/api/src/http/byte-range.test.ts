import { expect, test } from '@jest/globals';
import { byteRange } from './byte-range.ts';

test.each([
  ['bytes=0-0', { start: 0, end: 0 }],
  ['bytes=2-5', { start: 2, end: 5 }],
  ['bytes=9-', { start: 9, end: 9 }],
  ['bytes=5-99999999999999999999', { start: 5, end: 9 }],
  ['bytes=-3', { start: 7, end: 9 }],
  ['bytes=-10', { start: 0, end: 9 }],
  ['bytes=-99999999999999999999999', { start: 0, end: 9 }],
  ['BYTES= 1-2 ', { start: 1, end: 2 }],
  ['bytes=10-', 'unsatisfiable'],
  ['bytes=99999999999999999999999-', 'unsatisfiable'],
  ['bytes=-0', 'unsatisfiable'],
  ['bytes=5-2', null],
  ['bytes=0-1,3-4', null],
  ['bytes=', null],
  ['bytes=-', null],
  ['bytes=a-b', null],
  ['bytes=0x1-2', null],
  ['bytes=-1-2', null],
  ['bytes=1.5-2', null],
  ['items=0-1', null],
  ['0-1', null],
  ['', null],
  [undefined, null],
])('of ten bytes %j is %j', (header, range) => {
  expect(byteRange(header, 10)).toEqual(range);
});

test('every range of an empty file is the whole file', () => {
  for (const header of ['bytes=0-', 'bytes=0-0', 'bytes=-1', 'bytes=-0'])
    expect(byteRange(header, 0)).toBeNull();
});
