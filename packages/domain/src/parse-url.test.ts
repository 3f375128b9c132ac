import { expect, test } from '@jest/globals';
import { asciiDomain } from './domain-name.ts';
import { parseUrl } from './parse-url.ts';
import { parseEndpoint } from './webhook-endpoint.ts';

/** After some 4,500 calls V8 compiles a function: the texts have to be read alike before and after. */
const CALLS = 50_000;

test.each<[string, (text: string) => unknown, string, unknown]>([
  ['a URL', (text) => parseUrl(text)?.hostname, 'https://b\u00fccher.example/', 'xn--bcher-kva.example'],
  ['a domain', asciiDomain, 'b\u00fccher.example', 'xn--bcher-kva.example'],
  [
    'an endpoint',
    parseEndpoint,
    'https://b\u00fccher.example/',
    { ok: true, endpoint: 'https://xn--bcher-kva.example/' },
  ],
])('%s in Unicode is read after many others, too', (_, read, text, expected) => {
  for (let call = 0; call < CALLS; call += 1) read(call % 2 === 0 ? text : 'https://a.example/');
  expect(read(text)).toEqual(expected);
});

test('what is no absolute URL is null', () => {
  for (const text of ['', 'a.example', '//a.example', 'https://', 'https://a b.example']) {
    expect(parseUrl(text)).toBeNull();
  }
});
