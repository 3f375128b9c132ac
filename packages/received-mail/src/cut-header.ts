import {
  HEADER_BYTES_MAX,
  HEADER_LINES_MAX,
  FIELD_BYTES_MAX,
  SIGNATURE_BYTES_MAX,
  SIGNATURES_MAX,
} from './limits.ts';

export interface CutMessage {
  /** The message with a header within the limits. */
  readonly bytes: Buffer;
  /** Bytes of the header, without the empty line behind it. */
  readonly headerBytes: number;
  /** True when a part of the header is missing, other than a signature. Then the author is not known. */
  readonly isCut: boolean;
}

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const TAB = 0x09;
const SIGNATURE = /^dkim-signature\s*:/i;
/** Bytes that hold the name of a signature field, with blanks before its colon. */
const NAME_BYTES = 100;
const CRLF = Buffer.from('\r\n');

/**
 * Cuts the header of a message to the limits, so that no library spends minutes on it. Signatures beyond
 * their limits are left out: they count as absent.
 */
export function cutHeader(raw: Buffer): CutMessage {
  const kept: Buffer[] = [];
  let headerBytes = 0;
  let headerLines = 0;
  let signatures = 0;
  let isCut = false;
  let start = 0;
  while (start < raw.length && !isEmptyLine(raw, start)) {
    const { end, lines } = endOfField(raw, start);
    const whole = raw.subarray(start, end);
    start = end;
    if (SIGNATURE.test(whole.toString('latin1', 0, NAME_BYTES))) {
      signatures += 1;
      if (signatures > SIGNATURES_MAX || whole.length > SIGNATURE_BYTES_MAX) continue;
    }
    const field = cutField(whole);
    const fits = headerBytes + field.length <= HEADER_BYTES_MAX && headerLines + lines <= HEADER_LINES_MAX;
    if (!fits || field !== whole) isCut = true;
    if (!fits) continue;
    kept.push(field);
    headerBytes += field.length;
    headerLines += lines;
  }
  const isUnchanged = headerBytes === start;
  const bytes = isUnchanged ? raw : Buffer.concat([...kept, raw.subarray(start)]);
  return { bytes, headerBytes, isCut };
}

/** Cuts a field before a comma if it has one: half an address could look like another address. */
function cutField(field: Buffer): Buffer {
  if (field.length <= FIELD_BYTES_MAX) return field;
  const endMax = FIELD_BYTES_MAX - CRLF.length;
  const comma = field.lastIndexOf(',', endMax, 'latin1');
  let end = comma === -1 ? endMax : comma;
  // A line end before our CRLF would make an empty line, which ends the header.
  while (field[end - 1] === CR || field[end - 1] === LF) end -= 1;
  return Buffer.concat([field.subarray(0, end), CRLF]);
}

/** Finds the end of the field that starts at `start`, and counts its lines. */
function endOfField(raw: Buffer, start: number): { end: number; lines: number } {
  let end = lineEnd(raw, start);
  let lines = 1;
  while (raw[end] === SPACE || raw[end] === TAB) {
    end = lineEnd(raw, end);
    lines += 1;
  }
  return { end, lines };
}

function lineEnd(raw: Buffer, from: number): number {
  const lf = raw.indexOf(LF, from);
  return lf === -1 ? raw.length : lf + 1;
}

function isEmptyLine(raw: Buffer, at: number): boolean {
  return raw[at] === LF || (raw[at] === CR && raw[at + 1] === LF);
}
