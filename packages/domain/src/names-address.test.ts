import { expect, test } from '@jest/globals';
import { namesAddress } from './names-address.ts';

const BOB = 'bob@xn--bcher-kva.example';

test.each([
  'bob@xn--bcher-kva.example',
  'Bob <BOB@XN--BCHER-KVA.example>',
  'bob@bücher.example',
  '"Bob, B." <bob@Bücher.example>',
  'smtp; 550 5.1.1 <bob@xn--bcher-kva.example>: unknown user',
  'to=bob@xn--bcher-kva.example, status=bounced',
  'No mail for Bob@xn--bcher-kva.example.',
  'smtp; 550 <bob@B\u00fccher.example>: unknown user',
  'Write to Bob@bu\u0308cher.example.',
  `${'N'.repeat(998)} <bob@b\u00fccher.example>`,
  { recipients: ['ada@a.example', BOB] },
  { detail: { link: null, diagnostic: `550 ${BOB}` } },
])('%j names the address', (value) => {
  expect(namesAddress(value, BOB)).toBe(true);
});

test.each([
  'jim.bob@xn--bcher-kva.example',
  'Bob <jimbob@xn--bcher-kva.example>',
  'bob+tag@xn--bcher-kva.example',
  '550 <x-bob@xn--bcher-kva.example>',
  '550 bob@xn--bcher-kva.example.com',
  '550 bob@b\u00fccher.example.com',
  '550 jim.bob@b\u00fccher.example',
  '550 bob@xn--bcher-kva.example-mail.com',
  '"bob@xn--bcher-kva.example" <ada@a.example>',
  { [BOB]: 'a key is none' },
  '',
  null,
  17,
])('%j does not', (value) => {
  expect(namesAddress(value, BOB)).toBe(false);
});

test.each([
  ['zo\u00eb@b.example', 'zoe\u0308@b.example'],
  ['zo\u00eb@b.example', 'smtp; 550 <zoe\u0308@b.example>: unknown user'],
  ['bob@b.example', '"Bob"@b.example'],
  ['bob@b.example', 'smtp; 550 <"bob"@b.example>: unknown user'],
  ['bob@b.example', 'smtp; 550 <"b\\ob"@b.example>: unknown user'],
  ['bob@b.example', 'the users "eve" and "bob"@b.example are unknown'],
  ['"bob b"@b.example', 'smtp; 550 <"Bob B"@b.example>: unknown user'],
  ['bob@b.example', '550 \u6536\u4ef6\u4ebabob@b.example\u4e0d\u5b58\u5728'],
  ['bob@b.example', '550 \u5b9b\u5148bob@b.example\u306f'],
  ['bob@b.example', '550 \ub85cbob@b.example'],
  ['bob@b.example', '550 \u2709\ufe0fbob@b.example'],
])('%s is the address in %j', (address, text) => {
  expect(namesAddress(text, address)).toBe(true);
});

test.each([
  ['b@b.example', 'smtp; 550 <"bob b"@b.example>: unknown user'],
  ['bob@b.example', 'smtp; 550 <"jim bob"@b.example>: unknown user'],
  ['bob@b.example', 'smtp; 550 <"jim\\"bob"@b.example>: unknown user'],
  ['b@b.example', 'smtp; 550 <"b@b.example"@c.example>: unknown user'],
  // Behind a backslash no quoted local part begins. Otherwise each quote of `\\"\\"\\"` might begin one.
  ['bob@b.example', '\\"bob"@b.example'],
  ['bob@b.example', 'smtp; 550 <zo\u00ebbob@b.example>: unknown user'],
  // Node has no Unicode form of this domain.
  ['bob@b.0x1', 'smtp; 550 bob@ is unknown'],
])('%s is not the address in %j', (address, text) => {
  expect(namesAddress(text, address)).toBe(false);
});
