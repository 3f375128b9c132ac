import { describe, expect, test } from '@jest/globals';
import { hostOf, parseEndpoint } from './webhook-endpoint.ts';

const normalised = (text: string) => {
  const parsed = parseEndpoint(text);
  return parsed.ok ? parsed.endpoint : `fault: ${parsed.fault}`;
};

describe('an endpoint is stored in normalised form', () => {
  test.each([
    ['https://hooks.example.com/in', 'https://hooks.example.com/in'],
    ['https://hooks.example.com', 'https://hooks.example.com/'],
    ['HTTPS://Hooks.EXAMPLE.com/In', 'https://hooks.example.com/In'],
    ['https://hooks.example.com:443/in', 'https://hooks.example.com/in'],
    ['https://hooks.example.com:8443/in', 'https://hooks.example.com:8443/in'],
    ['https://hooks.example.com/a/../b?q=ü x', 'https://hooks.example.com/b?q=%C3%BC%20x'],
    ['https://hooks.example.com/in#part', 'https://hooks.example.com/in'],
    ['https://hooks.example.com/in#', 'https://hooks.example.com/in'],
    ['https://bücher.example/', 'https://xn--bcher-kva.example/'],
    ['https://ｈｏｏｋｓ.example.com/', 'https://hooks.example.com/'],
    ['https://hooks。example。com/', 'https://hooks.example.com/'],
    ['https://hooks.example.com./in', 'https://hooks.example.com./in'],
    ['https://ex_ample.example.com/', 'https://ex_ample.example.com/'],
    ['https://[2001:DB8::0:1]:9/in', 'https://[2001:db8::1]:9/in'],
    ['https://@hooks.example.com/', 'https://hooks.example.com/'],
    ['https://:@hooks.example.com/', 'https://hooks.example.com/'],
    ['https://hooks\t.exam\nple.com/i\rn', 'https://hooks.example.com/in'],
    ['https:///hooks.example.com/in', 'https://hooks.example.com/in'],
    ['https://hooks.example.com\\@other.example/', 'https://hooks.example.com/@other.example/'],
  ])('%j becomes %s', (text, endpoint) => {
    expect(normalised(text)).toBe(endpoint);
  });

  test('the normalised form is its own', () => {
    const once = normalised('HTTPS://Bücher.example:443/ä?ö#ü');
    expect(normalised(once)).toBe(once);
  });

  test.each([
    ['https://2130706433/', 'https://127.0.0.1/'],
    ['https://0x7f.1/', 'https://127.0.0.1/'],
    ['https://0177.0.0.1/', 'https://127.0.0.1/'],
    ['https://%31%32%37.0.0.1/', 'https://127.0.0.1/'],
    ['https://①②⑦.0.0.1/', 'https://127.0.0.1/'],
    ['https://[::ffff:169.254.169.254]/', 'https://[::ffff:a9fe:a9fe]/'],
    ['https://localhost/', 'https://localhost/'],
  ])('%s, private as it is, registers as %s: delivery refuses it', (text, endpoint) => {
    expect(normalised(text)).toBe(endpoint);
  });
});

describe('an endpoint is refused, with words that follow its name', () => {
  const NOT_ABSOLUTE = 'is not an absolute URL';
  const NOT_HTTPS = 'is not an https:// URL';
  const CREDENTIALS = 'carries a user name or password';
  const EMPTY_LABEL = 'has an empty label in its host name';

  test.each([
    ['', NOT_ABSOLUTE],
    ['hooks.example.com', NOT_ABSOLUTE],
    ['/in', NOT_ABSOLUTE],
    ['//hooks.example.com/in', NOT_ABSOLUTE],
    ['https://', NOT_ABSOLUTE],
    ['https://?in', NOT_ABSOLUTE],
    ['https://exa mple.com/', NOT_ABSOLUTE],
    ['https://example.com%00.other.example/', NOT_ABSOLUTE],
    ['https://1.2.3.4.5/', NOT_ABSOLUTE],
    ['https://127.0.0.08/', NOT_ABSOLUTE],
    ['https://[::1%25lo]/', NOT_ABSOLUTE],
    ['https://example.com:65536/', NOT_ABSOLUTE],
    ['http://hooks.example.com/', NOT_HTTPS],
    ['HTTP://hooks.example.com/', NOT_HTTPS],
    ['ws://hooks.example.com/', NOT_HTTPS],
    ['wss://hooks.example.com/', NOT_HTTPS],
    ['httpss://hooks.example.com/', NOT_HTTPS],
    ['ftp://hooks.example.com/', NOT_HTTPS],
    ['file:///etc/passwd', NOT_HTTPS],
    ['data:text/plain,x', NOT_HTTPS],
    ['javascript:alert(1)', NOT_HTTPS],
    ['unix:/var/run/docker.sock', NOT_HTTPS],
    ['blob:https://hooks.example.com/', NOT_HTTPS],
    ['https:hooks.example.com', NOT_HTTPS],
    ['https:/hooks.example.com', NOT_HTTPS],
    ['https:\\\\hooks.example.com\\in', NOT_HTTPS],
    ['ht\ntps://hooks.example.com/', NOT_HTTPS],
    ['https://user:pass@hooks.example.com/', CREDENTIALS],
    ['https://user@hooks.example.com/', CREDENTIALS],
    ['https://:pass@hooks.example.com/', CREDENTIALS],
    ['https://%20@hooks.example.com/', CREDENTIALS],
    ['https://127.0.0.1:443@hooks.example.com/', CREDENTIALS],
    ['https://hooks.example.com:0/', 'has port 0'],
    ['https://hooks.example.com:000/', 'has port 0'],
    ['https://.example.com/', EMPTY_LABEL],
    ['https://a..example.com/', EMPTY_LABEL],
    ['https://example.com../', EMPTY_LABEL],
    ['https://./', EMPTY_LABEL],
  ])('%j %s', (text, fault) => {
    expect(parseEndpoint(text)).toEqual({ ok: false, fault });
  });
});

describe('an endpoint has at most 2,048 characters', () => {
  const START = 'https://hooks.example.com/';
  const long = (length: number) => START + 'a'.repeat(length - START.length);

  test('2,048 are accepted', () => {
    expect(normalised(long(2048))).toBe(long(2048));
  });

  test('2,049 are not', () => {
    expect(parseEndpoint(long(2049))).toEqual({ ok: false, fault: 'is longer than 2048 characters' });
  });

  test('nor are 2,049 in the normalised form, where ä is six', () => {
    expect(parseEndpoint(`${START}${'ä'.repeat(400)}`)).toEqual({
      ok: false,
      fault: 'is longer than 2048 characters in its normalised form',
    });
  });
});

describe('a host name is what DNS can hold', () => {
  const TOO_LONG = 'has a host name that is too long for DNS';
  /** A host name of so many characters, its labels 63 long. */
  const host = (length: number) => `${'a'.repeat(63)}.`.repeat(4).slice(0, length);

  test('253 characters in labels of 63 are accepted, with a final dot too', () => {
    expect(normalised(`https://${host(253)}/`)).toBe(`https://${host(253)}/`);
    expect(normalised(`https://${host(253)}./`)).toBe(`https://${host(253)}./`);
  });

  test('254 characters are not, nor is a label of 64', () => {
    expect(parseEndpoint(`https://${host(254)}/`)).toEqual({ ok: false, fault: TOO_LONG });
    expect(parseEndpoint(`https://${'a'.repeat(64)}.example/`)).toEqual({ ok: false, fault: TOO_LONG });
  });
});

test.each([
  ['https://hooks.example.com/in?token=1', 'hooks.example.com'],
  ['https://hooks.example.com:8443/in', 'hooks.example.com:8443'],
])('the host of %s is %s', (endpoint, host) => {
  expect(hostOf(endpoint)).toBe(host);
});
