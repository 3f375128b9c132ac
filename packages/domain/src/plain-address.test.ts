import { expect, test } from '@jest/globals';
import { plainAddress } from './plain-address.ts';

test.each([
  ['bob@b.example', 'bob@b.example'],
  ['Bob@B.Example', 'bob@b.example'],
  ['bob@bücher.example', 'bob@xn--bcher-kva.example'],
  ['BOB@BÜCHER.EXAMPLE', 'bob@xn--bcher-kva.example'],
  ['BÖB@b.example', 'böb@b.example'],
  ['Bo\u0308b@b.example', 'böb@b.example'],
  ['"Bob"@b.example', 'bob@b.example'],
  ['"b\\ob"@b.example', 'bob@b.example'],
  ['"Bob B"@b.example', '"bob b"@b.example'],
  [String.raw`"Bob\ B\,"@b.example`, '"bob b,"@b.example'],
  [String.raw`"b\"o\\b"@b.example`, String.raw`"b\"o\\b"@b.example`],
  ['bob@b.example.', 'bob@b.example'],
  ['.bob..@B_1.example', '.bob..@b_1.example'],
  ["O'Neil+tag@b.example", "o'neil+tag@b.example"],
])('%s is remembered as %s', (text, address) => {
  expect(plainAddress(text)).toBe(address);
});

test.each([
  '',
  'bob',
  '@b.example',
  'bob@',
  'bob@localhost',
  'bob@[192.0.2.1]',
  'Bob <bob@b.example>',
  '<bob@b.example>',
  ' bob@b.example',
  'bob@b.example ',
  'a@b@c.example',
  'bob\0@b.example',
  'bob@b.example\n',
])('%j is no plain address', (text) => {
  expect(plainAddress(text)).toBeNull();
});
