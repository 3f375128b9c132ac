import type { ByteRange } from '@postrider/blobs';

const SINGLE = /^bytes=[ \t]*(?:(\d+)-(\d*)|-(\d+))[ \t]*$/i;

/**
 * Returns the bytes that a `Range` header selects (RFC 9110 14.2). We ignore several ranges, other units and
 * malformed headers, as the RFC allows.
 *
 * @param size the file's size in bytes. @returns null: the whole file; `unsatisfiable`: answer 416.
 */
export function byteRange(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | null {
  const [matched, first, last = '', suffix] = SINGLE.exec(header ?? '') ?? [];
  // Content-Range cannot describe a range of an empty file.
  if (matched === undefined || size === 0) return null;
  if (suffix !== undefined) {
    return Number(suffix) === 0
      ? 'unsatisfiable'
      : { start: Math.max(0, size - Number(suffix)), end: size - 1 };
  }
  const [start, end] = [Number(first), last === '' ? Infinity : Number(last)];
  if (start > end) return null;
  return start >= size ? 'unsatisfiable' : { start, end: Math.min(end, size - 1) };
}
