import { expect, test } from '@jest/globals';
import { senderPattern, senderPatterns } from './sender-patterns.ts';

test('an address is covered by itself, its domain, and those above', () => {
  expect(senderPatterns(['Ann@News.B\u00fccher.example', 'ann@news.xn--bcher-kva.example', '', 'x'])).toEqual(
    ['ann@news.xn--bcher-kva.example', 'news.xn--bcher-kva.example', 'xn--bcher-kva.example', 'example'],
  );
});

test.each([
  ['Ann+shop@News.B\u00fccher.example', 'ann+shop@news.xn--bcher-kva.example'],
  ['News.B\u00fccher.example', 'news.xn--bcher-kva.example'],
])('%s is kept as %s, which covers it', (written, kept) => {
  expect(senderPattern(written)).toBe(kept);
  expect(senderPatterns([written.includes('@') ? written : `ann@${written}`])).toContain(kept);
});

test.each([
  '',
  'example',
  '@shop.example',
  '*@shop.example ',
  'Ann <ann@shop.example>',
  '127.0.0.1',
  'a b.example',
])('%j is neither an address nor a domain', (written) => {
  expect(senderPattern(written)).toBeNull();
});
