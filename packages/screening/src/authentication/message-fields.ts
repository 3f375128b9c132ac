/** A header field as it stands in the message: name, colon, value and folds, without the last line break. */
export interface HeaderField {
  /** Lower case. '' when the line has no colon, or a name longer than any that is looked for. */
  readonly name: string;
  readonly line: Buffer;
}

export interface MessageParts {
  /** In the order of the message. */
  readonly fields: readonly HeaderField[];
  /**
   * False: the header exceeds the bounds. Of what lies beyond, `fields` has only From, see {@link
   * FROM_BYTES_MAX}.
   */
  readonly isWhole: boolean;
  readonly body: Buffer;
}

/** Other receivers cut or refuse a header far smaller: Postfix at 100 KiB (header_size_limit). */
const HEADER_BYTES_MAX = 1_048_576;
const FIELDS_MAX = 10_000;
/** Beyond the bounds no From field is kept once they have more bytes than this: nobody reads so many. */
export const FROM_BYTES_MAX = 65_536;
/** Longer than any field that is looked for. */
const NAME_BYTES_MAX = 100;

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const TAB = 0x09;
const COLON = 0x3a;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * Cuts a message into header fields and body (RFC 5322, section 2.1). Lines may end with CRLF or LF.
 *
 * mailauth's own parser is not used: its time grows with the square of the number of folded lines
 * (160 KB of them took 53 s).
 */
export function splitMessage(raw: Buffer): MessageParts {
  const fields: HeaderField[] = [];
  let isWhole = true;
  let fromBytes = 0;
  // The reader of the message skips it, too: a From field behind it has an author to judge.
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

/** Everything behind the colon. */
export function valueOf(field: HeaderField): Buffer {
  return field.line.subarray(field.line.indexOf(COLON) + 1);
}

function isEmptyLine(raw: Buffer, at: number): boolean {
  return raw[at] === LF || (raw[at] === CR && raw[at + 1] === LF);
}

/** Where the line that begins at `from` ends, its line break included. */
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
 * Any number of blanks may stand before the colon (RFC 5322, section 4.5.8). A record shows the author of
 * such a From field, so the field must be judged.
 */
function nameOf(line: Buffer): string {
  let end = line.indexOf(COLON);
  while (end > 0 && (line[end - 1] === SPACE || line[end - 1] === TAB)) end -= 1;
  const isName = end > 0 && end <= NAME_BYTES_MAX;
  return isName ? line.toString('latin1', 0, end).trim().toLowerCase() : '';
}
