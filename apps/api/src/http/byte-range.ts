import type { ByteRange } from '@postrider/blobs';

/** One of `Range`: the last so many bytes, or from one on, perhaps to another. */
type AskedRange = { readonly last: number } | { readonly start: number; readonly end: number };

const SINGLE = /^bytes=[ \t]*(?:(\d+)-(\d*)|-(\d+))[ \t]*$/i;

/**
 * Which bytes a `Range` means (RFC 9110 14.2). Several ranges, another unit and what is no range are as none: a server may
 * ignore it.
 *
 * @param size of the whole in bytes. @returns null: the whole; `unsatisfiable`: 416.
 */
export function byteRange(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | null {
  const asked = header === undefined ? null : parseRange(header);
  // Nothing of nothing cannot be said in Content-Range.
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
