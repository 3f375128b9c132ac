import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { asciiDomain, parseDomainName } from './domain-name.ts';

describe('parseDomainName', () => {
  test.each([
    ['example.com', 'example.com'],
    ['Mail.EXAMPLE.com', 'mail.example.com'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['BÜCHER.example', 'xn--bcher-kva.example'],
    ['xn--BCHER-kva.example', 'xn--bcher-kva.example'],
    ['例え.テスト', 'xn--r8jz45g.xn--zckzah'],
    ['shop.co.uk', 'shop.co.uk'],
    ['me.github.io', 'me.github.io'],
    ['a'.repeat(63) + '.example', 'a'.repeat(63) + '.example'],
  ])('%s is kept as %s', (text, name) => {
    expect(parseDomainName(text)).toEqual({ ok: true, name });
  });

  test.each(['co.uk', 'CO.UK', 'github.io', 'kawasaki.jp', '公司.cn'])(
    '%s is a public suffix, and nobody’s own',
    (text) => {
      expect(parseDomainName(text)).toEqual({ ok: false, fault: 'is a public suffix' });
    },
  );

  test.each(['192.0.2.1', '::1', '2001:db8::1', '[2001:db8::1]'])('%s is an IP address', (text) => {
    expect(parseDomainName(text)).toEqual({ ok: false, fault: 'is an IP address' });
  });

  test.each([
    '',
    'com',
    'localhost',
    '127.1',
    '0x7f.1',
    'example.com.',
    '.example.com',
    'a..example.com',
    '-a.example.com',
    'a-.example.com',
    'a_b.example.com',
    'a b.example.com',
    ' example.com',
    'example.com\n',
    'https://example.com',
    'example.com/path',
    'bücher.example/path',
    'bücher.example:80',
    'user@bücher.example',
    'example.com\0',
    '\ud800.example',
    `${'a'.repeat(64)}.example`,
    `${'a.'.repeat(130)}example`,
  ])('%j is no domain name', (text) => {
    expect(parseDomainName(text)).toEqual({ ok: false, fault: 'is not a domain name' });
  });
});

test('a name in its stored form stays as it is, and no text makes it throw', () => {
  fc.assert(
    fc.property(fc.oneof(fc.domain(), fc.string({ unit: 'binary' }), fc.string()), (text) => {
      const name = asciiDomain(text);
      if (name !== null) expect([asciiDomain(name), asciiDomain(name.toUpperCase())]).toEqual([name, name]);
    }),
  );
});
