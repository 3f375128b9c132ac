const EQUALS = 0x3d;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const TAB = 0x09;

/**
 * Decodes a Content-Transfer-Encoding (RFC 2045 6). Broken input gives its readable bytes. An unknown
 * encoding gives the bytes unchanged.
 *
 * postal-mime makes an object for each line. 10 MiB of short lines took it over 1.5 GB.
 *
 * @param encoding value of the field
 */
export function decodeTransfer(body: Buffer, encoding: string): Buffer {
  const name = /[\w-]+/.exec(encoding.replaceAll(/\([^()]*\)/g, ' '))?.[0].toLowerCase();
  if (name === 'base64') return Buffer.from(body.toString('latin1'), 'base64');
  return name === 'quoted-printable' ? decodeQuotedPrintable(body) : body;
}

/** Decodes quoted-printable (RFC 2045 6.7). An `=` that begins neither a byte nor a soft line break stays. */
function decodeQuotedPrintable(body: Buffer): Buffer {
  const decoded = Buffer.allocUnsafe(body.length);
  let length = 0;
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at] ?? 0;
    const escaped = byte === EQUALS ? escapeAt(body, at) : null;
    at = escaped?.end ?? at;
    if (escaped === null) length = decoded.writeUInt8(byte, length);
    else if (escaped.byte !== null) length = decoded.writeUInt8(escaped.byte, length);
  }
  return decoded.subarray(0, length);
}

/** @returns the decoded byte, or null for a soft line break, with the last position of the escape */
function escapeAt(body: Buffer, at: number): { byte: number | null; end: number } | null {
  const high = hexDigit(body[at + 1]);
  const low = hexDigit(body[at + 2]);
  if (high !== -1 && low !== -1) return { byte: high * 16 + low, end: at + 2 };
  let end = at + 1;
  while (body[end] === SPACE || body[end] === TAB) end += 1;
  if (body[end] === CR) end += 1;
  return body[end] === LF || end >= body.length ? { byte: null, end } : null;
}

function hexDigit(code = 0): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
