import {
  FIELD_BYTES_MAX,
  FIELDS_OF_A_NAME_MAX,
  HEADER_BYTES_MAX,
  HEADER_LINES_MAX,
  HEADER_SCAN_BYTES_MAX,
  HEADERS_MAX,
} from './limits.ts';

export interface HeaderField {
  /** The name as written. */
  readonly name: string;
  /** The value, unfolded but not decoded: one byte per character. */
  readonly value: string;
  /** True when the field was longer than the limit, and was cut. */
  readonly cut: boolean;
}

export interface HeaderBlock {
  /** The fields in order, up to the limits. */
  readonly listed: readonly HeaderField[];
  /** The fields with this name, at most `FIELDS_OF_A_NAME_MAX`. */
  named(name: KnownName): readonly HeaderField[];
  /** True when `named` has every field with this name, and each is whole. */
  hasAll(name: KnownName): boolean;
  /** Everything after the empty line. */
  readonly body: Buffer;
  readonly complete: boolean;
}

/**
 * These fields make up a message record. We read them behind any number of other fields, so junk cannot hide
 * the sender.
 */
const KNOWN_NAMES = [
  'from',
  'to',
  'cc',
  'reply-to',
  'subject',
  'message-id',
  'in-reply-to',
  'references',
  'auto-submitted',
  'precedence',
  'content-type',
  'content-transfer-encoding',
  'content-disposition',
  'content-id',
] as const;
export type KnownName = (typeof KNOWN_NAMES)[number];

/** A name within one line (RFC 5322 3.6.8). Spaces may stand before the colon (4.5.8). */
const FIELD_START = /^([\x21-\x39\x3b-\x7e]{1,998})[ \t]*:/;
/** A cut line that begins a field: its colon may stand behind the cut. */
const CUT_FIELD_START = /^([\x21-\x39\x3b-\x7e]{1,998})[ \t]+$/;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const TAB = 0x09;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * Reads the header block of a message or a part in one scan. Lines end with CRLF or LF. Bytes before the
 * first empty line that hold no field belong to the body.
 */
export function readHeaderBlock(bytes: Buffer): HeaderBlock {
  const start = bytes.subarray(0, 3).equals(BYTE_ORDER_MARK) ? 3 : 0;
  const end = endOfHeader(bytes, start);
  const scanned = bytes.subarray(start, Math.min(end.header, start + HEADER_SCAN_BYTES_MAX));
  const fields = new FieldCollector();
  const read = readLines(scanned, (from, to) => fields.add(scanned, from, to));
  fields.finish();
  const isScanned = scanned.length === end.header - start && read >= scanned.length;
  return {
    listed: fields.listed,
    named: (name) => fields.known.get(name) ?? [],
    hasAll: (name) => isScanned && !fields.cutNames.has(name),
    body: bytes.subarray(fields.isEmpty && end.header > start ? start : end.body),
    complete: fields.complete && isScanned,
  };
}

/** Joins folded lines to fields and keeps the fields within the limits. */
class FieldCollector {
  readonly listed: HeaderField[] = [];
  readonly known = new Map<string, HeaderField[]>(KNOWN_NAMES.map((name) => [name, []]));
  /** Names, in lower case, of cut and dropped fields. */
  readonly cutNames = new Set<string>();
  complete = true;
  isEmpty = true;
  private name = '';
  private value = '';
  private cut = false;
  private listedBytes = 0;

  add(bytes: Buffer, from: number, to: number): void {
    const folded = bytes[from] === SPACE || bytes[from] === TAB;
    if (folded) {
      this.extend(bytes, from, to);
      return;
    }
    this.finish();
    const cut = to - from > FIELD_BYTES_MAX;
    const line = bytes.toString('latin1', from, Math.min(to, from + FIELD_BYTES_MAX));
    const start = FIELD_START.exec(line) ?? (cut ? CUT_FIELD_START.exec(line) : null);
    if (start?.[1] === undefined) return; // not a field: its continuation lines are dropped, too
    this.isEmpty = false;
    this.name = start[1];
    this.value = line.slice(start[0].length);
    this.cut = cut;
  }

  finish(): void {
    if (this.name === '') return;
    const field = { name: this.name, value: this.value.trim(), cut: this.cut };
    this.name = '';
    this.list(field);
    const name = field.name.toLowerCase();
    const sameName = this.known.get(name);
    const isKept = sameName === undefined || sameName.length < FIELDS_OF_A_NAME_MAX;
    if (isKept) sameName?.push(field);
    if (isKept && !field.cut) return;
    this.complete = false;
    if (sameName !== undefined) this.cutNames.add(name);
  }

  private extend(bytes: Buffer, from: number, to: number): void {
    if (this.name === '') return;
    const left = FIELD_BYTES_MAX - this.value.length;
    if (to - from > left) this.cut = true;
    if (left > 0) this.value += bytes.toString('latin1', from, Math.min(to, from + left));
  }

  private list(field: HeaderField): void {
    this.listedBytes += field.name.length + field.value.length;
    if (this.listed.length < HEADERS_MAX && this.listedBytes <= HEADER_BYTES_MAX) this.listed.push(field);
    else this.complete = false;
  }
}

/** Finds the end of the header, and the start of the body after the empty line. */
function endOfHeader(bytes: Buffer, start: number): { header: number; body: number } {
  const emptyAtStart = lengthOfLineEnd(bytes, start);
  if (emptyAtStart > 0) return { header: start, body: start + emptyAtStart };
  const ends = ['\n\n', '\n\r\n'].flatMap((empty) => {
    const at = bytes.indexOf(empty, start, 'latin1');
    return at === -1 ? [] : [{ header: at + 1, body: at + empty.length }];
  });
  const first = ends.sort((one, other) => one.header - other.header)[0];
  return first ?? { header: bytes.length, body: bytes.length };
}

function lengthOfLineEnd(bytes: Buffer, at: number): number {
  if (bytes[at] === LF) return 1;
  return bytes[at] === CR && bytes[at + 1] === LF ? 2 : 0;
}

/**
 * Calls `onLine` with start and end of each line, without the line end.
 * @returns the position where it stopped
 */
function readLines(bytes: Buffer, onLine: (from: number, to: number) => void): number {
  let from = 0;
  for (let lines = 0; lines < HEADER_LINES_MAX && from < bytes.length; lines += 1) {
    const found = bytes.indexOf(LF, from);
    const to = found === -1 ? bytes.length : found;
    onLine(from, bytes[to - 1] === CR && to > from ? to - 1 : to);
    from = to + 1;
  }
  return from;
}
