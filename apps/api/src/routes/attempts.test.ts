import { expect, test } from '@jest/globals';
import { readCursor, responseText, writeCursor } from './attempts.ts';

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
])('%j is no cursor', (text) => {
  expect(readCursor(text)).toBeNull();
});

const KIB = 1024;

test.each([
  ['nothing', Buffer.alloc(0), ''],
  ['text', Buffer.from('{"error":"né"}'), '{"error":"né"}'],
  ['a byte order mark', Buffer.from('\ufeffa'), '\ufeffa'],
  ['a NUL', Buffer.from('a\0b'), 'a\0b'],
  ['a character that is cut at the end', Buffer.from('a\u{1f389}').subarray(0, 4), 'a'],
  ['a byte that is no UTF-8', Buffer.from([0x61, 0xff, 0x62]), 'a\ufffdb'],
])('%s is read as UTF-8', (_, bytes, text) => {
  expect(responseText(bytes)).toBe(text);
});

test('a text of exactly 1 KiB is whole', () => {
  expect(responseText(Buffer.alloc(KIB, 'a'))).toBe('a'.repeat(KIB));
});

test.each([Buffer.alloc(KIB, 0xff), Buffer.alloc(KIB, 'aé'), Buffer.alloc(5 * KIB, '\u{1f389}a')])(
  'whatever the bytes are, the text has at most 1 KiB and ends with a whole character',
  (bytes) => {
    const text = responseText(bytes);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(KIB);
    expect(Buffer.byteLength(text)).toBeGreaterThan(KIB - 4);
    expect(bytes.toString('utf8').startsWith(text)).toBe(true);
  },
);
