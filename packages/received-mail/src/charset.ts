import { isUtf8 } from 'node:buffer';
import { TextDecoder } from 'node:util';

/** Senders often name these charsets wrongly. So we look at the bytes instead. */
const SAYS_LITTLE = ['', 'utf-8', 'utf8', 'us-ascii', 'ascii'];

/** Code pages by number, as in cp932, ms932 or windows-932. TextDecoder does not know these names. */
const CODE_PAGES = new Map([
  ['874', 'windows-874'],
  ['932', 'shift_jis'],
  ['936', 'gbk'],
  ['949', 'euc-kr'],
  ['950', 'big5'],
  ['50220', 'iso-2022-jp'],
  ['50221', 'iso-2022-jp'],
  ['50222', 'iso-2022-jp'],
  ['51932', 'euc-jp'],
]);

/** windows-1252 at 0x80 to 0x9f (Encoding Standard). Five of the codes are unused. */
const WINDOWS_1252 = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ';
const FIRST = 0x80;

/**
 * @param charset as the message names it. An unknown one, such as UTF-7, is treated as if none were named.
 */
export function decodeCharset(bytes: Buffer, charset = ''): string {
  const named = charset.trim().toLowerCase();
  const decoder =
    (SAYS_LITTLE.includes(named) ? null : decoderOf(named)) ?? new TextDecoder(likelyCharset(bytes));
  return decoder.encoding === 'windows-1252' ? decodeWindows1252(bytes) : decoder.decode(bytes);
}

/**
 * Node from 20.18.3 to 24 decodes windows-1252 as ISO 8859-1. There, control characters stand at the codes of
 * quotes and dashes (nodejs/node#60888).
 */
function decodeWindows1252(bytes: Buffer): string {
  const codes = new Uint16Array(bytes.length);
  for (let at = 0; at < bytes.length; at += 1) codes[at] = codeInWindows1252(bytes[at] ?? 0);
  return Buffer.from(codes.buffer).toString('utf16le');
}

/** No sender means the control characters of ISO 8859-1. Node misread windows-1252 when they appear. */
export function withoutMisreadControls(text: string): string {
  return text.replaceAll(/[\u0080-\u009f]/g, (control) =>
    String.fromCharCode(codeInWindows1252(control.charCodeAt(0))),
  );
}

function codeInWindows1252(code: number): number {
  const index = code - FIRST;
  return index >= 0 && index < WINDOWS_1252.length ? WINDOWS_1252.charCodeAt(index) : code;
}

/**
 * Guesses the charset of bytes that should be UTF-8. Old programs send windows-1252 and name UTF-8 or
 * nothing. One valid multi-byte character proves UTF-8 with a fault: in windows-1252 such pairs of bytes are
 * rare.
 */
function likelyCharset(bytes: Buffer): string {
  if (isUtf8(bytes)) return 'utf-8';
  const hasWholeCharacter = /[^\u0000-\u007f\ufffd]/.test(bytes.toString('utf8'));
  return hasWholeCharacter ? 'utf-8' : 'windows-1252';
}

function decoderOf(named: string): TextDecoder | null {
  const codePage = /^(?:x-)?(?:cp|ms|ibm|windows-?)(\d+)$/.exec(named)?.[1] ?? '';
  for (const label of [named, CODE_PAGES.get(codePage), named.replace(/^x-/, '')]) {
    const decoder = label === undefined ? null : decoderNamed(label);
    if (decoder !== null) return decoder;
  }
  return null;
}

function decoderNamed(label: string): TextDecoder | null {
  try {
    return new TextDecoder(label);
  } catch {
    return null; // unknown, or not decoded by the Encoding Standard
  }
}
