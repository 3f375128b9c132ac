import { LINE_CHARACTERS_MAX } from './limits.ts';

const NUL = 0;
const LF = 0x0a;
const CR = 0x0d;

/** Makes one line without control characters. So decoded text cannot begin a header field or a log line. */
export function oneLine(text: string): string {
  const line = text.replaceAll(/[\t\r\n\u2028\u2029]+/g, ' ');
  return line
    .replaceAll(/\p{Cc}/gu, '')
    .toWellFormed()
    .trim();
}

/** Like `oneLine`, cut to the length of a line. For ids and names. */
export function shortLine(text: string): string {
  return oneLine(text).slice(0, LINE_CHARACTERS_MAX).toWellFormed().trim();
}

/**
 * Replaces CRLF by LF, removes NUL, and replaces each half of a surrogate pair by U+FFFD. Postgres refuses
 * NUL and such halves.
 *
 * It works on an array of codes. `replaceAll` keeps an object for each match: 170 MiB for 10 MiB of CRLF.
 */
export function storable(written: string): string {
  const text = written.toWellFormed();
  if (!/[\0\r]/.test(text)) return text;
  const bytes = Buffer.from(text, 'utf16le');
  const codes = new Uint16Array(bytes.buffer, bytes.byteOffset, text.length);
  let length = 0;
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] ?? 0;
    if (code === NUL || (code === CR && codes[at + 1] === LF)) continue;
    codes[length] = code;
    length += 1;
  }
  return bytes.toString('utf16le', 0, length * Uint16Array.BYTES_PER_ELEMENT);
}
