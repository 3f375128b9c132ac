import { expect, test } from '@jest/globals';
import { senderPattern, senderPatterns } from './sender-patterns.ts';

test('an address is covered by itself, its domain, and those above', () => {
  expect(senderPatterns(['Ann@News.B\u00fccher.example', 'ann@news.xn--bcher-kva.example', '', 'x'])).toEqual(
    ['ann@news.xn--bcher-kva.example', 'news.xn--bcher-kva.example', 'xn--bcher-kva.example', 'example'],
  );
});

test.each([
  '"a b"@News.Shop.example',
  '@shop.example',
  'gr\u00fc\u00dfe@shop.example',
  'a..b@shop.example',
  'x@shop.example.',
  'x@a_b.shop.example',
  'x@-.shop..example',
  'x@(mail) shop . example (Ann)',
  'x@(a(b)c)shop.example',
  String.raw`x@(a\)b)shop.example`,
  'x@shop.example(@other.example)',
  'x@shop.example y',
  'x@shop.example>',
  'x@[shop.example',
  'x@shop.example/y',
  `${'v'.repeat(80)}@shop.example`,
])('%s is covered by its domain, which no odd form hides', (written) => {
  expect(senderPatterns(['bob@other.example', written])).toContain('shop.example');
});

test.each([
  'x@a_b.B\u00dcCHER.example.',
  'x@b\u00fccher\u3002example',
  'x@B\u00fccher.example>',
  'x@xn--zzzz.b\u00fccher.example',
  'x@a^b.b\u00fccher.example',
])('%s is covered by the domain in ASCII', (written) => {
  expect(senderPatterns([written])).toContain('xn--bcher-kva.example');
});

test.each(['ann@notshop.example', 'shop.example@other.example', 'ann@shop.example.other', 'shop.example'])(
  '%s is not covered by shop.example',
  (written) => {
    expect(senderPatterns([written])).not.toContain('shop.example');
  },
);

test('a sender whom no row of Postgres can name is covered by the domain alone', () => {
  expect(senderPatterns(['"a\0b"@sh\0op.example', '\ud800@shop.example'])).toEqual([
    'shop.example',
    'example',
  ]);
});

test('quotes hide no address', () => {
  expect(senderPatterns(['"Ann"@shop.example'])).toContain('ann@shop.example');
  expect(senderPatterns([String.raw`"a\nn"@shop.example`])).toContain('ann@shop.example');
});

test('of a long name only what a block list may hold is looked up', () => {
  const [address, ...domains] = senderPatterns([`x@${'ab.'.repeat(300)}example`]);
  expect(address).toHaveLength(909);
  expect(domains).toHaveLength(83); // 82 times `ab.` and `example` are 253 characters
  const patterns = senderPatterns([`x@${'a.'.repeat(490)}shop.example`]);
  expect(patterns).toContain('shop.example');
  expect(patterns.length).toBeLessThanOrEqual(128);
});

test.each([
  ['Ann+shop@News.B\u00fccher.example', 'ann+shop@news.xn--bcher-kva.example'],
  ['News.B\u00fccher.example', 'news.xn--bcher-kva.example'],
  ['GR\u00dc\u00dfE@shop.example', 'gr\u00fc\u00dfe@shop.example'],
  ['gru\u0308\u00dfe@shop.example', 'gr\u00fc\u00dfe@shop.example'],
  ['a..b@shop.example', 'a..b@shop.example'],
  [`${'V'.repeat(65)}@shop.example`, `${'v'.repeat(65)}@shop.example`],
])('%s is kept as %s, which covers it', (written, kept) => {
  expect(senderPattern(written)).toBe(kept);
  expect(senderPatterns([written.includes('@') ? written : `ann@${written}`])).toContain(kept);
  expect(senderPattern(kept)).toBe(kept);
});

test.each(['xn--bcher-kva.example', 'xn--zzzz.example', '0x7f.0x1', 'a--b.example', 'ann@0x7f.0x1'])(
  '%s, which a block list may hold, covers mail from there',
  (kept) => {
    expect(senderPattern(kept)).toBe(kept);
    expect(senderPatterns([kept.includes('@') ? kept : `ann@${kept}`])).toContain(kept);
  },
);

test.each([
  '',
  'example',
  '@shop.example',
  '*@shop.example ',
  'Ann <ann@shop.example>',
  '127.0.0.1',
  'a b.example',
  '"a b"@shop.example',
  'a b@shop.example',
  'a\0b@shop.example',
  '\ud800@shop.example',
  'ann@shop.example.',
  `${'\u00fc'.repeat(257)}@shop.example`,
])('%j is neither an address nor a domain', (written) => {
  expect(senderPattern(written)).toBeNull();
});
