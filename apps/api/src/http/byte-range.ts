import type { ByteRange } from '@postrider/blobs';

/** A parsed `Range`: the last N bytes, or the bytes from `start` to `end`. */
type AskedRange = { readonly last: number } | { readonly start: number; readonly end: number };

const SINGLE = /^bytes=[ \t]*(?:(\d+)-(\d*)|-(\d+))[ \t]*$/i;

/**
 * Returns the bytes that a `Range` header selects (RFC 9110 14.2). We ignore several ranges, other units and
 * malformed headers, as the RFC allows.
 *
 * @param size the file's size in bytes. @returns null: the whole file; `unsatisfiable`: answer 416.
 */
export function byteRange(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | null {
  const asked = header === undefined ? null : parseRange(header);
  // Content-Range cannot describe a range of an empty file.
  if (asked === null || size === 0) return null;
  if ('last' in asked) {
    return asked.last === 0 ? 'unsatisfiable' : { start: Math.max(0, size - asked.last), end: size - 1 };
  }
  if (asked.start >= size) return 'unsatisfiable';
  return { start: asked.start, end: Math.min(asked.end, size - 1) };
}

function parseRange(header: string): AskedRange | null {
  const [matched, start, end, last] = SINGLE.exec(header) ?? [];
  if (matched === undefined) return null;
  if (last !== undefined) return { last: Number(last) };
  const range = { start: Number(start), end: end === '' ? Infinity : Number(end) };
  return range.start > range.end ? null : range;
}
