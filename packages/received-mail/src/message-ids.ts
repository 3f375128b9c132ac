import { oneLine } from './clean-text.ts';
import { ID_BYTES_MAX, REFERENCES_MAX } from './limits.ts';

/**
 * Reads the ids in angle brackets. Folding may put spaces into an id, so spaces are removed. Some programs
 * omit the brackets. Then the ids are the words that look like addresses (RFC 5322 3.6.4).
 */
export function idsIn(field: string): string[] {
  const text = oneLine(field);
  const bracketed = [...text.matchAll(/<([^<>]+)>/g)].map(([, id = '']) => id.replaceAll(/\s/g, ''));
  const ids = bracketed.length > 0 ? bracketed : text.split(/[\s<>(),;"]+/).filter(isLikeAddress);
  return ids.filter(isKept);
}

/** Reads a Message-ID. A lone word is an id, too: some programs write neither brackets nor `@`. */
export function ownId(field: string): string | null {
  const word = oneLine(field);
  return idsIn(field)[0] ?? (/^[^\s<>]+$/.test(word) && isKept(word) ? word : null);
}

/** A long list keeps its first id, which names the conversation, and its last ids. */
export function newestIds(ids: readonly string[]): string[] {
  if (ids.length <= REFERENCES_MAX) return [...ids];
  return [...ids.slice(0, 1), ...ids.slice(1 - REFERENCES_MAX)];
}

function isKept(id: string): boolean {
  return id !== '' && Buffer.byteLength(id) <= ID_BYTES_MAX;
}

function isLikeAddress(word: string): boolean {
  return /^[^@]+@[^@]+$/.test(word);
}
