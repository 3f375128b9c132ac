import { rawText } from './clean-text.ts';
import type { HeaderField } from './header-block.ts';
import { ID_BYTES_MAX, REFERENCES_MAX } from './limits.ts';

/** The first id of the first field that has one. */
export function firstId(fields: readonly HeaderField[]): string | null {
  return fields.flatMap(idsIn)[0] ?? null;
}

/** The ids of References. A long list keeps its first id, which names the conversation, and its last ids. */
export function referenceIds(fields: readonly HeaderField[]): { ids: string[]; complete: boolean } {
  const ids = fields.slice(0, 1).flatMap(idsIn);
  if (ids.length <= REFERENCES_MAX) return { ids, complete: true };
  return { ids: [...ids.slice(0, 1), ...ids.slice(1 - REFERENCES_MAX)], complete: false };
}

/**
 * Reads the ids in angle brackets. Folding may put spaces into an id, so spaces are removed. Some programs
 * omit the brackets. Then the ids are the words that look like addresses (RFC 5322 3.6.4).
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
