import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { inboundAddress, inboundDomain, inboundName } from './inbound-address.ts';
import { RESERVED_NAMES } from './reserved-names.ts';

test.each([
  ['Support@Shop.Example', 'support@shop.example'],
  ['support+4711@shop.example', 'support@shop.example'],
  ['support+a+b@shop.example', 'support@shop.example'],
  ['support@b\u00fccher.example', 'support@xn--bcher-kva.example'],
  ['"Support+a"@shop.example', 'support@shop.example'],
  [`${'a'.repeat(64)}+${'t'.repeat(100)}@shop.example`, `${'a'.repeat(64)}@shop.example`],
  ['sup.port@shop.example', 'sup.port@shop.example'],
])('%s is kept as %s', (written, kept) => {
  expect(inboundAddress(written)).toBe(kept);
});

test.each([
  '',
  'support',
  '@shop.example',
  '+tag@shop.example',
  '*@shop.example',
  '*+tag@shop.example',
  'Support <support@shop.example>',
  'support@shop',
  'support@[127.0.0.1]',
  'a@b@shop.example',
  '.support@shop.example',
  'sup..port@shop.example',
  'süpport@shop.example',
  '"sup port"@shop.example',
  `${'a'.repeat(65)}@shop.example`,
  'sup\u0000port@shop.example',
  ' support@shop.example',
])('%j is no address', (written) => {
  expect(inboundAddress(written)).toBeNull();
});

test('its domain stands behind the last at sign', () => {
  expect(inboundDomain('support@shop.example')).toBe('shop.example');
  expect(inboundName('support@shop.example')).toBe('support');
});

test('docs/inbound.md lists the reserved names', () => {
  const page = readFileSync(new URL('../../../docs/inbound.md', import.meta.url), 'utf8');
  expect(page.replaceAll(/\s+/g, ' ')).toContain(RESERVED_NAMES.map((name) => `\`${name}\``).join(', '));
});
