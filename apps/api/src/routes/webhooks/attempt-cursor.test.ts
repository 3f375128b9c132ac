import { expect, test } from '@jest/globals';
import { readCursor, writeCursor } from './attempt-cursor.ts';

const CURSOR = { startedUs: 1_795_000_000_123_456n, deliveryId: 9_223_372_036_854_775_807n, attempt: 32_767 };

test('a cursor is read as it was written, to the microsecond', () => {
  expect(readCursor(writeCursor(CURSOR))).toEqual(CURSOR);
});

const written = (text: string) => Buffer.from(text).toString('base64url');

test.each([
  '',
  'x',
  '\0',
  `${writeCursor(CURSOR)}=`,
  ` ${writeCursor(CURSOR)}`,
  written('1.2'),
  written('1.2.3.4'),
  written('-1.2.3'),
  written('01.2.3'),
  written('8640000000000000001.2.3'),
  written('1.9223372036854775808.3'),
  written('1.2.32768'),
])('%j is none', (text) => {
  expect(readCursor(text)).toBeNull();
});
