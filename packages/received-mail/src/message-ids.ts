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

/** Without the brackets, which some programs leave out. Spaces in an id come from folding inside it. */
function idsIn({ value }: HeaderField): string[] {
  const text = rawText(value);
  const bracketed = [...text.matchAll(/<([^<>]+)>/g)].map(([, id = '']) => id.replaceAll(/\s/g, ''));
  const ids = bracketed.length > 0 ? bracketed : text.replaceAll(/[<>]/g, ' ').split(/\s+/);
  return ids.filter((id) => id !== '' && Buffer.byteLength(id) <= ID_BYTES_MAX);
}
