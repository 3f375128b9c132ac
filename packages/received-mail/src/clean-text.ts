import { LINE_CHARACTERS_MAX } from './limits.ts';

const NUL = 0;
const LF = 0x0a;
const CR = 0x0d;
const REPLACEMENT = 0xfffd;

/** Makes one line without control characters. So decoded text cannot begin a header field or a log line. */
export function oneLine(text: string): string {
  const line = text.replaceAll(/[\t\r\n\u2028\u2029]+/g, ' ');
  return wellFormed(line.replaceAll(/\p{Cc}/gu, '')).trim();
}

/** Like `oneLine`, cut to the length of a line. For ids and names. */
export function shortLine(text: string): string {
  return wellFormed(oneLine(text).slice(0, LINE_CHARACTERS_MAX)).trim();
}

/**
 * Replaces CRLF by LF and removes NUL and half surrogate pairs: Postgres refuses NUL and halves.
 *
 * It works on an array of codes. `replaceAll` keeps an object for each match: 170 MiB for 10 MiB of CRLF.
 */
export function storable(text: string): string {
  if (!/[\0\r]|\p{Surrogate}/u.test(text)) return text;
  const bytes = Buffer.from(text, 'utf16le');
  const codes = new Uint16Array(bytes.buffer, bytes.byteOffset, text.length);
  let length = 0;
  let before = 0;
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] ?? 0;
    const after = codes[at + 1] ?? 0;
    const isHalf = isHigh(code) ? !isLow(after) : isLow(code) && !isHigh(before);
    before = code;
    if (code === NUL || (code === CR && after === LF)) continue;
    codes[length] = isHalf ? REPLACEMENT : code;
    length += 1;
  }
  return bytes.toString('utf16le', 0, length * Uint16Array.BYTES_PER_ELEMENT);
}

function isHigh(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

function isLow(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}

function wellFormed(text: string): string {
  return text.replaceAll(/\p{Surrogate}/gu, '\ufffd');
}
