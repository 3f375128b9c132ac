import { expect, test } from '@jest/globals';
import { parseInboundMatch } from './inbound-match.ts';

test.each([
  ['Support+4711@Shop.Example', 'support@shop.example', 'shop.example', false],
  ['a@b\u00fccher.example', 'a@xn--bcher-kva.example', 'xn--bcher-kva.example', false],
  ['*a@shop.example', '*a@shop.example', 'shop.example', false],
  ['*@Shop.Example', '*@shop.example', 'shop.example', true],
  ['*@b\u00fccher.example', '*@xn--bcher-kva.example', 'xn--bcher-kva.example', true],
])('%s is kept as %s', (written, match, domain, isWholeDomain) => {
  expect(parseInboundMatch(written)).toEqual({ match, domain, isWholeDomain });
});

test.each([
  '',
  '*',
  '*@',
  '*@*',
  '*@*.shop.example',
  '*@shop',
  '*@127.0.0.1',
  '*@a@shop.example',
  '*+tag@shop.example',
  ' *@shop.example',
  'shop.example',
  '+tag@shop.example',
  'A <a@shop.example>',
])('%j is no match', (written) => {
  expect(parseInboundMatch(written)).toBeNull();
});
