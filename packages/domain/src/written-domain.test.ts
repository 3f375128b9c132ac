import { describe, expect, test } from '@jest/globals';
import { writtenDomains } from './written-domain.ts';

test.each([
  ['ann@Shop.Example', 'shop.example'],
  ['ann@shop.example.', 'shop.example'],
  ['ann@ shop.example', 'shop.example'],
  ['ann@\r\n\tshop.example ', 'shop.example'],
  ['ann@sh\0op.exam\ud800ple', 'shop.example'],
  ['ann@-.shop..example', '-.shop.example'],
  ['ann@[shop.example', 'shop.example'],
  ['ann@shop.example/y', 'shop.example'],
  ['"a@b"@shop.example', 'shop.example'],
  ['ann@b@shop.example', 'shop.example'],
  ['"a("@shop.example', 'shop.example'],
])('%j names %s', (address, domain) => {
  expect(writtenDomains(address)).toEqual([domain]);
});

describe('no comment hides the domain', () => {
  test.each([
    'ann@(x)shop.example',
    'ann@(a(b)c)shop.example',
    String.raw`ann@(a\)b)shop.example`,
    'ann@(a(b(c)d(e)f)g)shop.example',
    'ann@shop(x).example',
    'ann@shop.example(x',
    'ann@(shop.example',
    'ann@((x)shop.example',
    'ann@shop.example(@other.example)',
    '"ann@shop.example("@other.example)',
  ])('%s', (address) => {
    expect(writtenDomains(address)).toContain('shop.example');
  });
});

test.each([
  ['ann@shop .example', ['shop.example', 'shop']],
  ['ann@shop.example Ann', ['shop.exampleann', 'shop.example']],
  ['ann@sh(x)op.example', ['shop.example', 'sh']],
])('%s, which mail readers read differently, names each of these', (address, domains) => {
  expect(writtenDomains(address)).toEqual(domains);
});

test.each([
  ['ann@B\u00dcCHER.example', 'xn--bcher-kva.example'],
  ['ann@b\u00fccher\u3002example\uff0e', 'xn--bcher-kva.example'],
  ['ann@xn--zzzz.b\u00fccher.example', 'xn--zzzz.xn--bcher-kva.example'],
  ['ann@a^b.b\u00fccher.example', 'a^b.xn--bcher-kva.example'],
  ['ann@\ufffd.b\u00fccher.example', '\ufffd.xn--bcher-kva.example'],
  ['ann@\uff11\uff12.b\u00fccher.example', '12.xn--bcher-kva.example'],
  ['ann@\u00fc%2eshop.example', '\u00fc%2eshop.example'],
  ['ann@sh\u00adop.example', 'shop.example'],
  [
    `ann@${'\u00fc.'.repeat(200)}b\u00fccher.example`,
    `${'\u00fc.'.repeat(75)}${'xn--tda.'.repeat(125)}xn--bcher-kva.example`,
  ],
  [`ann@b\u00fccher.example${'.'.repeat(200)}`, 'xn--bcher-kva.example'],
  [`ann@b\u00fccher.example${'.\u00ad'.repeat(200)}`, 'xn--bcher-kva.example'],
])('%s is %s: each label is in ASCII, or as written where IDNA denies it', (address, domain) => {
  expect(writtenDomains(address)).toEqual([domain]);
});

test.each(['', 'ann', 'ann@', 'ann@ ', 'ann@(x)', 'ann@..', 'shop.example@'])('%j names none', (address) => {
  expect(writtenDomains(address)).toEqual([]);
});
