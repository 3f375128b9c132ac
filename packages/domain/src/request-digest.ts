import { createHash } from 'node:crypto';
import type { Hash } from 'node:crypto';

/**
 * SHA-256 of what a parsed JSON body says, however it was written: the order of members, white space and escapes do
 * not count. Walks without recursion and hashes as it goes: a body may nest deeper than the stack, and its text may be
 * 32 MiB long.
 */
export function requestDigest(body: unknown): Buffer {
  const hash = createHash('sha256');
  const pending: Pending[] = [{ value: body }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if ('text' in next) hash.update(next.text);
    else pending.push(...partsOf(next.value, hash));
  }
  return hash.digest();
}

/** Of a value, what is still to be hashed; the last comes first. */
type Pending = { readonly text: string } | { readonly value: unknown };

function partsOf(value: unknown, hash: Hash): Pending[] {
  if (typeof value === 'string') {
    // Its length in front does what quotes and escapes would do, without a copy of the text.
    hash.update(`"${value.length}:`).update(value, 'utf16le');
    return [];
  }
  if (typeof value !== 'object' || value === null) {
    hash.update(String(value)); // JSON has no infinity, but 1e999 reads as one
    return [];
  }
  if (Array.isArray(value)) {
    const entries = (value as unknown[]).map((entry): Pending => ({ value: entry }));
    return [{ text: ']' }, ...entries.reverse().flatMap((entry) => [{ text: ',' }, entry]), { text: '[' }];
  }
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return [
    { text: '}' },
    ...members.reverse().flatMap(([name, member]): Pending[] => [{ value: member }, { value: name }]),
    { text: '{' },
  ];
}
