import { readHeaderBlock, type HeaderBlock, type KnownName } from './header-block.ts';
import { DEPTH_MAX, PARTS_MAX } from './limits.ts';
import { readStructuredField, type StructuredField } from './structured-field.ts';

/** A node of the MIME tree: a multipart with its parts, or a leaf. */
export interface Part {
  /** `type/subtype` in lower case. */
  readonly mediaType: string;
  readonly contentType: StructuredField;
  readonly disposition: StructuredField;
  /** The first field with this name, not decoded; empty when there is none. */
  raw(name: KnownName): string;
  /** Still in its transfer encoding. */
  readonly body: Buffer;
  /** The parts of a multipart; null for a leaf. */
  readonly children: readonly Part[] | null;
}

const TEXT = 'text/plain';
const MEDIA_TYPE = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}$/;
const LF = 0x0a;
const CR = 0x0d;

/**
 * Splits a message into at most `PARTS_MAX` parts, at most `DEPTH_MAX` levels deep. A multipart becomes a
 * leaf when it is deeper, or has no boundary or no part. Then `complete` is false. A nested message is always
 * a leaf.
 */
export function readParts(message: HeaderBlock): { root: Part; complete: boolean } {
  let complete = true;
  let count = 0;

  function partOf(block: HeaderBlock, defaultType: string, depth: number): Part {
    count += 1;
    if (!block.complete) complete = false;
    const raw = (name: KnownName): string => block.named(name)[0]?.value ?? '';
    const contentType = readStructuredField(raw('content-type') || defaultType);
    // An unreadable type means plain text (RFC 2045 5.2).
    const mediaType = MEDIA_TYPE.test(contentType.value) ? contentType.value : TEXT;
    const disposition = readStructuredField(raw('content-disposition'));
    const children = mediaType.startsWith('multipart/') ? childrenOf(block.body, contentType, depth) : null;
    return { mediaType, contentType, disposition, raw, body: block.body, children };
  }

  function childrenOf(body: Buffer, { value, parameters }: StructuredField, depth: number): Part[] | null {
    const boundary = parameters.get('boundary') ?? '';
    // RFC 2046 5.1.5
    const defaultType = value === 'multipart/digest' ? 'message/rfc822' : TEXT;
    const children: Part[] = [];
    if (boundary !== '' && depth < DEPTH_MAX) {
      for (const segment of segmentsOf(body, boundary)) {
        if (count >= PARTS_MAX) {
          complete = false;
          break;
        }
        children.push(partOf(readHeaderBlock(segment), defaultType, depth + 1));
      }
    }
    if (children.length > 0) return children;
    complete = false;
    return null;
  }

  const root = partOf(message, TEXT, 0);
  return { root, complete };
}

/** Yields the bytes between the delimiter lines (RFC 2046 5.1.1). The last delimiter may be missing. */
function* segmentsOf(body: Buffer, boundary: string): Generator<Buffer> {
  const mark = Buffer.from(`--${boundary}`, 'latin1');
  let start = -1;
  for (let at = body.indexOf(mark); at !== -1; at = body.indexOf(mark, at + mark.length)) {
    const delimiter = at === 0 || body[at - 1] === LF ? delimiterAt(body, at + mark.length) : null;
    if (delimiter === null) continue;
    if (start !== -1) yield body.subarray(start, Math.max(start, withoutLineEnd(body, at)));
    if (delimiter.isLast) return;
    start = delimiter.end;
  }
  if (start !== -1) yield body.subarray(start);
}

/**
 * Reads the rest of the line after the boundary.
 * @returns null when the line continues with text, and is no delimiter
 */
function delimiterAt(body: Buffer, from: number): { isLast: boolean; end: number } | null {
  const lineEnd = body.indexOf(LF, from);
  const end = lineEnd === -1 ? body.length : lineEnd + 1;
  const rest = body.toString('latin1', from, end);
  if (/^--\s*$/.test(rest)) return { isLast: true, end };
  return /^\s*$/.test(rest) ? { isLast: false, end } : null;
}

/** The line end before a delimiter belongs to the delimiter. */
function withoutLineEnd(body: Buffer, at: number): number {
  return body[at - 2] === CR ? at - 2 : at - 1;
}
