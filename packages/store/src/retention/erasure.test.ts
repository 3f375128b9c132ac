import { expect, test } from '@jest/globals';
import { needleOf } from './erasure.ts';

test.each([
  ['bob@b.example', 'bob@'],
  ['"bob b"@b.example', 'bob b@'],
  ['andr\u00e9@b.example', 'andr'],
  ['zo\u00eb.miller@b.example', '.miller@'],
  ['miller.zo\u00eb.a@b.example', 'miller.zo'],
  ['i\u0307lker@b.example', 'lker@'],
  ['\u00eb@b.example', '@'],
])('%s is in no text without its longest part in ASCII, %s', (address, needle) => {
  expect(needleOf(address)).toBe(needle);
});
