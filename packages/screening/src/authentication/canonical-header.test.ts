import { describe, expect, test } from '@jest/globals';
import { canonicalHeader } from './canonical-header.ts';
import type { Canonicalization } from './dkim-signature.ts';

const SIGNATURE = 'DKIM-Signature: v=1; b=x';

function canonical(headerCanonicalization: Canonicalization, fields: readonly string[], signature: string) {
  const lines = fields.map((field) => Buffer.from(field, 'latin1'));
  const line = Buffer.from(signature, 'latin1');
  return canonicalHeader(lines, { line, headerCanonicalization }).toString('latin1');
}

test.each([
  ['simple', 'A: X\r\nB : Y\t\r\n\tZ  \r\nDKIM-Signature: v=1; b='],
  ['relaxed', 'a:X\r\nb:Y Z\r\ndkim-signature:v=1; b='],
] as const)('the example of RFC 6376, section 3.4.5, %s', (canonicalization, expected) => {
  expect(canonical(canonicalization, ['A: X', 'B : Y\t\r\n\tZ  '], SIGNATURE)).toBe(expected);
});

test.each(['\u00a0', '\u0085', '\v', '\f', '\0'])('relaxed keeps the byte %j', (byte) => {
  expect(canonical('relaxed', [`Subject: ${byte} x${byte}`], SIGNATURE)).toBe(
    `subject:${byte} x${byte}\r\ndkim-signature:v=1; b=`,
  );
});

describe('of the signature only the value of b= is left out', () => {
  test.each([
    ['D: v=1; b=x/y+z==', 'D: v=1; b='],
    ['D:b=x; bh=y', 'D:b=; bh=y'],
    ['D: v=1;\r\n b \r\n =\r\n x\r\n y ; bh=b=', 'D: v=1;\r\n b \r\n =; bh=b='],
    ['D: z=From:b=40c|To: b=d; b=x', 'D: z=From:b=40c|To: b=d; b='],
    ['D: v=1; bb=x', 'D: v=1; bb=x'],
  ])('%j', (signature, expected) => {
    expect(canonical('simple', [], signature)).toBe(expected);
  });
});
