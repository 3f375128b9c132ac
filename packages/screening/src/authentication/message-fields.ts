/** A header field as the message has it: name, colon, value and folds, without the last line break. */
export interface HeaderField {
  /** The name in lower case. Empty when the line has no colon, or a name longer than `NAME_BYTES_MAX`. */
  readonly name: string;
  readonly line: Buffer;
}

export interface MessageParts {
  /** In the order of the message. */
  readonly fields: readonly HeaderField[];
  /**
   * False when the header exceeds a limit. Beyond the limit, `fields` has only From fields, up to
   * `FROM_BYTES_MAX`.
   */
  readonly isWhole: boolean;
  readonly body: Buffer;
}

/** Other receivers cut or refuse much smaller headers: Postfix at 100 KiB (header_size_limit). */
const HEADER_BYTES_MAX = 1_048_576;
const FIELDS_MAX = 10_000;
/** Beyond the limits we keep From fields until they have more bytes than this. No reader looks at more. */
export const FROM_BYTES_MAX = 65_536;
/** Longer than any field name that we need. */
const NAME_BYTES_MAX = 100;

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const TAB = 0x09;
const COLON = 0x3a;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * Splits a message into header fields and body (RFC 5322, section 2.1). Lines end with CRLF or LF.
 *
 * We do not use mailauth's parser: its time grows with the square of the number of folded lines. 160 KB of
 * them took 53 s.
 */
export function splitMessage(raw: Buffer): MessageParts {
  const fields: HeaderField[] = [];
  let isWhole = true;
  let fromBytes = 0;
  // The message parser skips the byte order mark and shows the author of a From field behind it. So we judge
  // this author as well.
  let start = raw.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0;
  while (start < raw.length && !isEmptyLine(raw, start)) {
    const next = nextField(raw, start);
    const field = fieldOf(raw, start, next);
    const isWithin = next <= HEADER_BYTES_MAX && fields.length < FIELDS_MAX;
    const isFrom = field.name === 'from';
    if (isWithin || (isFrom && fromBytes <= FROM_BYTES_MAX)) fields.push(field);
    if (isFrom) fromBytes += field.line.length;
    if (!isWithin) isWhole = false;
    start = next;
  }
  return { fields, isWhole, body: raw.subarray(lineEnd(raw, start)) };
}

/** The bytes after the colon. */
export function valueOf(field: HeaderField): Buffer {
  return field.line.subarray(field.line.indexOf(COLON) + 1);
}

function isEmptyLine(raw: Buffer, at: number): boolean {
  return raw[at] === LF || (raw[at] === CR && raw[at + 1] === LF);
}

/** Finds the end of the line that starts at `from`, after its line break. */
function lineEnd(raw: Buffer, from: number): number {
  const lf = raw.indexOf(LF, from);
  return lf === -1 ? raw.length : lf + 1;
}

function nextField(raw: Buffer, start: number): number {
  let end = lineEnd(raw, start);
  while (raw[end] === SPACE || raw[end] === TAB) end = lineEnd(raw, end);
  return end;
}

function fieldOf(raw: Buffer, start: number, next: number): HeaderField {
  let end = next;
  if (end > start && raw[end - 1] === LF) end -= 1;
  if (end > start && raw[end - 1] === CR) end -= 1;
  const line = raw.subarray(start, end);
  return { name: nameOf(line), line };
}

/**
 * Blanks may stand before the colon (RFC 5322, section 4.5.8). A record shows the author of such a From
 * field, so we judge this author.
 */
function nameOf(line: Buffer): string {
  let end = line.indexOf(COLON);
  while (end > 0 && (line[end - 1] === SPACE || line[end - 1] === TAB)) end -= 1;
  const isName = end > 0 && end <= NAME_BYTES_MAX;
  return isName ? line.toString('latin1', 0, end).trim().toLowerCase() : '';
}
