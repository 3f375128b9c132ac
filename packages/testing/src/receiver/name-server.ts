import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';

/** How the name server treats a query: with addresses of either family, a CNAME, an error code, or silence. */
export type NameReply =
  | { addresses: readonly string[]; ttlSeconds?: number }
  | { cname: string }
  | 'nxdomain'
  | 'servfail'
  | 'silence';

/** A DNS server on a loopback UDP port, for `Resolver.setServers`. */
export interface NameServer {
  /** `127.0.0.1:<port>` */
  address: string;
  /** The queries so far, `<name> A` or `<name> AAAA`. */
  queries: readonly string[];
  close(): Promise<void>;
}

const typeCname = 5;
const typeAaaa = 28;
const replyCodes = { noerror: 0, servfail: 2, nxdomain: 3 };

/** @param reply decides on every query; names come in lower case without trailing dot */
export async function startNameServer(
  reply: (name: string, type: 'A' | 'AAAA') => NameReply,
): Promise<NameServer> {
  const socket = createSocket('udp4');
  const queries: string[] = [];
  socket.on('message', (message, sender) => {
    const question = readQuestion(message);
    const type = question.type === typeAaaa ? 'AAAA' : 'A';
    queries.push(`${question.name} ${type}`);
    const answer = reply(question.name, type);
    if (answer !== 'silence') socket.send(writeReply(message, question, answer), sender.port, sender.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    queries,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

interface Question {
  name: string;
  type: number;
  /** Offset behind the question. */
  end: number;
}

/** RFC 1035 4.1: a header of 12 bytes, then labels with their lengths, type and class. */
function readQuestion(message: Buffer): Question {
  const labels: string[] = [];
  let offset = 12;
  for (let length = message.readUInt8(offset); length > 0; length = message.readUInt8(offset)) {
    labels.push(message.toString('latin1', offset + 1, offset + 1 + length));
    offset += length + 1;
  }
  return { name: labels.join('.').toLowerCase(), type: message.readUInt16BE(offset + 1), end: offset + 5 };
}

function writeReply(query: Buffer, question: Question, reply: Exclude<NameReply, 'silence'>): Buffer {
  const records = typeof reply === 'string' ? [] : recordsFor(question.type, reply);
  const header = Buffer.alloc(12);
  query.copy(header, 0, 0, 2);
  // QR, RD, RA, and the reply code in the last four bits.
  header.writeUInt16BE(0x8180 | replyCodes[typeof reply === 'string' ? reply : 'noerror'], 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  return Buffer.concat([header, query.subarray(12, question.end), ...records]);
}

function recordsFor(
  type: number,
  reply: { addresses: readonly string[]; ttlSeconds?: number } | { cname: string },
): Buffer[] {
  if ('cname' in reply) return [record(typeCname, 0, encodeName(reply.cname))];
  return reply.addresses
    .filter((address) => isIPv6(address) === (type === typeAaaa))
    .map((address) => record(type, reply.ttlSeconds ?? 0, encodeAddress(address)));
}

function record(type: number, ttlSeconds: number, data: Buffer): Buffer {
  const head = Buffer.alloc(12);
  // The name is a pointer to the question, which begins at offset 12.
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt32BE(ttlSeconds, 6);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

function encodeName(name: string): Buffer {
  const labels = name
    .split('.')
    .map((label) => Buffer.from(`${String.fromCharCode(label.length)}${label}`, 'latin1'));
  return Buffer.concat([...labels, Buffer.alloc(1)]);
}

function encodeAddress(address: string): Buffer {
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
