import { SIGNATURE_VALUE } from './dkim-signature.ts';
import type { Signature } from './dkim-signature.ts';

/**
 * The header as DKIM signs it (RFC 6376, sections 3.4.1, 3.4.2 and 3.7): the signed fields, then the
 * signature's field without the value of `b=`.
 *
 * We do not use mailauth's version. Its relaxed form takes every byte 0xA0 for white space, and the UTF-8 of
 * `à` ends with 0xA0.
 *
 * @param lines the signed fields, in the order of `h=`, without their last line break
 */
export function canonicalHeader(
  lines: readonly Buffer[],
  { line, headerCanonicalization }: Pick<Signature, 'line' | 'headerCanonicalization'>,
): Buffer {
  const canonical = headerCanonicalization === 'relaxed' ? relaxedField : (field: string) => field;
  const signed = lines.map((each) => `${canonical(each.toString('latin1'))}\r\n`).join('');
  const own = canonical(line.toString('latin1')).replace(SIGNATURE_VALUE, '$1');
  return Buffer.from(signed + own, 'latin1');
}

function relaxedField(field: string): string {
  const colon = field.indexOf(':');
  return `${relaxed(field.slice(0, colon).toLowerCase())}:${relaxed(field.slice(colon + 1))}`;
}

/** Unfolds the text, writes runs of white space as one space, and trims both ends. */
function relaxed(text: string): string {
  return text.replaceAll(/[ \t\r\n]+/g, ' ').replaceAll(/^ | $/g, '');
}
