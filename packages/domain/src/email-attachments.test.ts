import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isBase64 } from './email-attachments.ts';

test('whatever an encoder writes is base64', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 50 }), (bytes) => {
      expect(isBase64(Buffer.from(bytes).toString('base64'))).toBe(true);
    }),
  );
});

test('no text is base64 that an encoder would have written otherwise', () => {
  const near = fc.string({ unit: fc.constantFrom(...'Ab0+/=-_ \n\u00e9'.split('')), maxLength: 12 });
  fc.assert(
    fc.property(near, (text) => {
      expect(isBase64(text)).toBe(Buffer.from(text, 'base64').toString('base64') === text);
    }),
    { numRuns: 2_000 },
  );
});

test.each([
  ['no padding', 'YQ'],
  ['half of the padding', 'YQ='],
  ['too much padding', 'YWI=='],
  ['nothing but padding', '===='],
  ['padding in the middle', 'YQ==YQ=='],
  ['bits that say nothing and are not zero', 'YR=='],
  ['the URL-safe alphabet', '-_-_'],
  ['a line break', 'YWJj\nZGVm'],
  ['a line break in place of a character', 'YWJ\nZGVm'],
  ['a space', 'YWJj '],
  ['a data URL', 'data:text/plain;base64,YWJj'],
  ['a data URL of the right length', 'data:;base64,YWJjYWJj+++'],
])('%s is not base64', (_, text) => {
  expect(isBase64(text)).toBe(false);
});

test('four million characters are looked at without a stack of steps to go back', () => {
  expect(isBase64('AAAA'.repeat(1_000_000))).toBe(true);
  expect(isBase64(`${'AAAA'.repeat(1_000_000)}!AAA`)).toBe(false);
});
