import { describe, expect, test } from '@jest/globals';
import { isRecipientList, parseEmailAddress, senderDomain } from './email-address.ts';

describe('an address is read', () => {
  test.each([
    ['jane@example.net', null, 'jane@example.net'],
    ['  jane@example.net  ', null, 'jane@example.net'],
    ['<jane@example.net>', null, 'jane@example.net'],
    ['Jane <jane@example.net>', 'Jane', 'jane@example.net'],
    ['Jane Doe<jane@example.net>', 'Jane Doe', 'jane@example.net'],
    ['Doe, Jane <jane@example.net>', 'Doe, Jane', 'jane@example.net'],
    ['Jane < jane@example.net >', 'Jane', 'jane@example.net'],
    ['ann@x.example <jane@example.net>', 'ann@x.example', 'jane@example.net'],
    ['Doe, Jane @ home <jane@example.net>', 'Doe, Jane @ home', 'jane@example.net'],
    ['"ann@x.example, Jane" <jane@example.net>', 'ann@x.example, Jane', 'jane@example.net'],
    ['" Jane " <jane@example.net>', 'Jane', 'jane@example.net'],
    ['"Doe, \\"J\\" <x>" <jane@example.net>', 'Doe, "J" <x>', 'jane@example.net'],
    ['Jörg 🎉 <j@example.net>', 'Jörg 🎉', 'j@example.net'],
    ['"" <jane@example.net>', null, 'jane@example.net'],
    ["o'brien+tag.x@sub.example.co", null, "o'brien+tag.x@sub.example.co"],
    [`${'a'.repeat(64)}@example.net`, null, `${'a'.repeat(64)}@example.net`],
    ['a@xn--bcher-kva.example', null, 'a@xn--bcher-kva.example'],
    ['a@b.c.example', null, 'a@b.c.example'],
    ['Jörg <j@Bücher.example>', 'Jörg', 'j@xn--bcher-kva.example'],
    ['j@bücher.例え', null, 'j@xn--bcher-kva.xn--r8jz45g'],
    ['jane@example.net.', null, 'jane@example.net'],
  ])('%j', (text, name, address) => {
    expect(parseEmailAddress(text)).toEqual({ name, address });
  });

  test.each([
    ['two dots, as docomo gave them out', 'a..b@docomo.ne.jp'],
    ['a dot at the start', '.abc@ezweb.ne.jp'],
    ['a dot at the end, as of a server\u2019s firmware', 'user.@example.com'],
    ['a local part of 85 characters, as in replies to a code host', `reply+${'0f'.repeat(40)}@reply.example`],
    ['an underscore in the domain', 'bounce@em_1234.example.com'],
    ['an underscore that starts a label', 'x@_spf.example.com'],
    ['a quoted local part', '"john doe"@example.net'],
    ['an at sign and a comma in quotes', '"a@b,c"@example.net'],
    ['a quoted pair', '"a\\"b"@example.net'],
    ['UTF-8', 'jürgen@xn--exmple-cua.net'],
    ['998 octets', `${'a'.repeat(986)}@example.net`],
  ])('%s', (_, address) => {
    expect(parseEmailAddress(address)).toEqual({ name: null, address });
    expect(parseEmailAddress(`Jo <${address}>`)).toEqual(
      address.length > 990 ? null : { name: 'Jo', address },
    );
  });

  test('up to 998 characters, the longest line of a message', () => {
    const address = 'jane@example.net';
    const name = 'n'.repeat(998 - ` <${address}>`.length);
    expect(parseEmailAddress(`${name} <${address}>`)).toEqual({ name, address });
    expect(parseEmailAddress(`${name}n <${address}>`)).toBeNull();
  });
});

test.each([
  [true, 'jane@example.net, Joe <joe@example.net>'],
  [true, 'jane@example.net, <joe@example.net>'],
  [true, 'jane@example.net; <joe@example.net>'],
  [true, 'Jane jane@example.net\u2028, Joe <joe@example.net>'],
  [false, '"jane@example.net, Joe" <joe@example.net>'],
  [false, 'jane@example.net <joe@example.net>'],
  [false, 'Doe, Joe @ home <joe@example.net>'],
  [false, 'Sales @ Acme, Inc. <sales@example.net>'],
  [false, '"a@b,c"@example.net'],
])('whether it is a list of recipients: %s, %j', (isList, text) => {
  expect(isRecipientList(text)).toBe(isList);
});

describe('what is no address is refused', () => {
  test.each([
    '',
    ' ',
    'jane',
    'jane@',
    '@example.net',
    'jane@example',
    'jane@@example.net',
    'a b@example.net',
    'jane@-example.net',
    'jane@example-.net',
    'jane@example..net',
    'jane@[127.0.0.1]',
    'jane@ex ämple.net',
    'jane@exämple',
    'jane@exämple.net/x',
    'jane@example.net, joe@example.net',
    'Jane <jane@example.net> joe',
    'Jane <jane@example.net',
    'Jane jane@example.net>',
    'Ja"ne <jane@example.net>',
    'Jane <a> <jane@example.net>',
    '"Jane" x <jane@example.net>',
    'x "Jane" <jane@example.net>',
    'Jane <>',
    'jane@example.net..',
    'jane@1.2',
    'jane@x.1',
    '=?utf-8?q?=61?=@example.net',
    '"=?utf-8?q?=61?="@example.net',
    String.raw`"=\?utf-8?q?=61\?="@example.net`,
    '""@example.net',
    '"a"b"@example.net',
    '"a>b"@example.net',
    '"ab\\\\"@example.net"',
    'ja\u00a0ne@example.net',
    'ja\u0085ne@example.net',
    `${'a'.repeat(987)}@example.net`,
    `${'ü'.repeat(494)}@example.net`,
    `a@${'b'.repeat(64)}.net`,
    `a@${'b.'.repeat(126)}net`,
  ])('%j', (text) => {
    expect(parseEmailAddress(text)).toBeNull();
  });

  test.each(['\r\nBcc: x@example.net', '\n', '\r', '\0', '\t', '\u007f'])(
    'a control character %j never passes, anywhere',
    (text) => {
      expect(parseEmailAddress(`Jane${text}<jane@example.net>`)).toBeNull();
      expect(parseEmailAddress(`jane@example.net${text}`)).toBeNull();
      expect(parseEmailAddress(`"Ja${text}ne" <jane@example.net>`)).toBeNull();
    },
  );
});

test('hostile text costs no more than other text: 10,000 of the longest are read within the time limit of a test', () => {
  const hostile = [
    ' '.repeat(998),
    `"${'\\'.repeat(996)}`,
    '<'.repeat(998),
    `${'@'.repeat(996)}<>`,
    `${'a-'.repeat(400)}@`,
    `${' '.repeat(990)}<`,
  ];
  const texts = Array.from({ length: 2000 }, () => hostile).flat();
  expect(texts.some((text) => parseEmailAddress(text) !== null)).toBe(false);
});

test.each([
  ['a@Mail.Example.com', 'mail.example.com'],
  ['"x@y.example" <a@BÜCHER.example>', 'xn--bcher-kva.example'],
  ['nobody', ''],
])('of %s the domain of the sender is %j', (from, domain) => {
  expect(senderDomain(from)).toBe(domain);
});
