import { rawText } from './clean-text.ts';
import type { HeaderField } from './header-block.ts';
import { ID_BYTES_MAX, REFERENCES_MAX } from './limits.ts';

/** The first id of the first field that has one. */
export function firstId(fields: readonly HeaderField[]): string | null {
  return fields.flatMap(idsIn)[0] ?? null;
}

/** The chain of References. A long one keeps its first id, which names the thread, and its last ones. */
export function referenceIds(fields: readonly HeaderField[]): { ids: string[]; complete: boolean } {
  const ids = fields.slice(0, 1).flatMap(idsIn);
  if (ids.length <= REFERENCES_MAX) return { ids, complete: true };
  return { ids: [...ids.slice(0, 1), ...ids.slice(1 - REFERENCES_MAX)], complete: false };
}

/**
 * What stands in brackets, without them: spaces in an id come from folding inside it. Some programs leave the brackets out:
 * then ids are the words that look like addresses (RFC 5322 3.6.4), and no others.
 */
function idsIn({ value }: HeaderField): string[] {
  const text = rawText(value);
  const bracketed = [...text.matchAll(/<([^<>]+)>/g)].map(([, id = '']) => id.replaceAll(/\s/g, ''));
  const ids = bracketed.length > 0 ? bracketed : text.split(/[\s<>(),;"]+/).filter(isLikeAddress);
  return ids.filter((id) => id !== '' && Buffer.byteLength(id) <= ID_BYTES_MAX);
}

function isLikeAddress(word: string): boolean {
  return /^[^@]+@[^@]+$/.test(word);
}
