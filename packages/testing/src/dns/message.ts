import { isIPv6 } from 'node:net';

/** The parts of RFC 1035 that the name servers of tests need. */

export const DNS_TYPES = { A: 1, CNAME: 5, PTR: 12, MX: 15, TXT: 16, AAAA: 28 } as const;

export const REPLY_CODES = { noerror: 0, servfail: 2, nxdomain: 3 } as const;

export interface Question {
  /** The name in lower case, without trailing dot. */
  name: string;
  type: number;
  /** The offset of the first byte after the question. */
  end: number;
}

/** Section 4.1: a header of 12 bytes, then labels with their lengths, type and class. */
export function readQuestion(message: Buffer): Question {
  const labels: string[] = [];
  let offset = 12;
  for (let length = message.readUInt8(offset); length > 0; length = message.readUInt8(offset)) {
    labels.push(message.toString('latin1', offset + 1, offset + 1 + length));
    offset += length + 1;
  }
  return { name: labels.join('.').toLowerCase(), type: message.readUInt16BE(offset + 1), end: offset + 5 };
}

export interface Reply {
  code: keyof typeof REPLY_CODES;
  records?: readonly Buffer[];
  /** True: the records are left out, and the client has to ask again over TCP. */
  isTruncated?: boolean;
}

export function writeReply(query: Buffer, question: Question, reply: Reply): Buffer {
  const { code, records = [], isTruncated = false } = reply;
  const sent = isTruncated ? [] : records;
  const header = Buffer.alloc(12);
  query.copy(header, 0, 0, 2);
  // QR, RD, RA, TC when truncated, and the reply code in the last four bits.
  header.writeUInt16BE(0x8180 | (isTruncated ? 0x0200 : 0) | REPLY_CODES[code], 2);
  header.writeUInt16BE(1, 4); // one question
  header.writeUInt16BE(sent.length, 6);
  return Buffer.concat([header, query.subarray(12, question.end), ...sent]);
}

/** A record of the name that was asked for. */
export function record(type: number, ttlSeconds: number, data: Buffer): Buffer {
  const head = Buffer.alloc(12);
  // The name is a pointer to the question, which begins at offset 12.
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt16BE(1, 4); // class IN
  head.writeUInt32BE(ttlSeconds, 6);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

export function encodeName(name: string): Buffer {
  const labels = name
    .split('.')
    .map((label) => Buffer.from(`${String.fromCharCode(label.length)}${label}`, 'latin1'));
  return Buffer.concat([...labels, Buffer.alloc(1)]);
}

/** Section 3.3.14: strings of at most 255 bytes. */
export function encodeText(text: string): Buffer {
  const bytes = Buffer.from(text);
  const strings: Buffer[] = [];
  for (let start = 0; start === 0 || start < bytes.length; start += 255) {
    const part = bytes.subarray(start, start + 255);
    strings.push(Buffer.of(part.length), part);
  }
  return Buffer.concat(strings);
}

export function encodeAddress(address: string): Buffer {
  if (!isIPv6(address)) return Buffer.from(address.split('.').map(Number));
  const [before = '', after = ''] = expandDotted(address).split('::');
  const head = before === '' ? [] : before.split(':');
  const tail = after === '' ? [] : after.split(':');
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0');
  const bytes = Buffer.alloc(16);
  [...head, ...zeros, ...tail].forEach((group, index) =>
    bytes.writeUInt16BE(Number.parseInt(group, 16), index * 2),
  );
  return bytes;
}

/** Turns the dotted tail of `::ffff:127.0.0.1` into two groups. */
function expandDotted(address: string): string {
  return address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, a: string, b: string, c: string, d: string) =>
    [Number(a) * 256 + Number(b), Number(c) * 256 + Number(d)].map((group) => group.toString(16)).join(':'),
  );
}
