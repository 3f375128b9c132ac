import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';
import { DNS_TYPES, encodeAddress, encodeName, readQuestion, record, writeReply } from '../dns/message.ts';
import type { Question, Reply } from '../dns/message.ts';

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

/** @param reply decides on every query; names come in lower case without trailing dot */
export async function startNameServer(
  reply: (name: string, type: 'A' | 'AAAA') => NameReply,
): Promise<NameServer> {
  const socket = createSocket('udp4');
  const queries: string[] = [];
  socket.on('message', (message, sender) => {
    const question = readQuestion(message);
    const type = question.type === DNS_TYPES.AAAA ? 'AAAA' : 'A';
    queries.push(`${question.name} ${type}`);
    const answer = reply(question.name, type);
    if (answer !== 'silence')
      socket.send(writeReply(message, question, replyOf(question, answer)), sender.port, sender.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    queries,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

function replyOf(question: Question, reply: Exclude<NameReply, 'silence'>): Reply {
  return typeof reply === 'string'
    ? { code: reply }
    : { code: 'noerror', records: recordsFor(question.type, reply) };
}

function recordsFor(
  type: number,
  reply: { addresses: readonly string[]; ttlSeconds?: number } | { cname: string },
): Buffer[] {
  if ('cname' in reply) return [record(DNS_TYPES.CNAME, 0, encodeName(reply.cname))];
  return reply.addresses
    .filter((address) => isIPv6(address) === (type === DNS_TYPES.AAAA))
    .map((address) => record(type, reply.ttlSeconds ?? 0, encodeAddress(address)));
}
