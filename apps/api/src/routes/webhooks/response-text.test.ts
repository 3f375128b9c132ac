import { expect, test } from '@jest/globals';
import { responseText } from './response-text.ts';

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
