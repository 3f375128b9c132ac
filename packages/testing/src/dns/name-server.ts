import { isIPv6 } from 'node:net';
import { startDnsServer } from './dns-server.ts';
import { DNS_TYPES, encodeAddress, encodeName, record } from './message.ts';
import type { Question, Reply } from './message.ts';

/** The answer to a query: addresses of either family, a CNAME, an error code, or silence. */
export type NameReply =
  | { addresses: readonly string[]; ttlSeconds?: number }
  | { cname: string }
  | 'nxdomain'
  | 'servfail'
  | 'silence';

/** A DNS server that a function answers for, for `Resolver.setServers`. */
export interface NameServer {
  /** `127.0.0.1:<port>` */
  address: string;
  /** The queries so far, `<name> A` or `<name> AAAA`. */
  queries: readonly string[];
  close(): Promise<void>;
}

/** @param reply gets names in lower case without trailing dot */
export async function startNameServer(
  reply: (name: string, type: 'A' | 'AAAA') => NameReply,
): Promise<NameServer> {
  const server = await startDnsServer((question) => {
    const answer = reply(question.name, question.type === DNS_TYPES.AAAA ? 'AAAA' : 'A');
    return answer === 'silence' ? null : replyOf(question, answer);
  });
  return { address: server.address, queries: server.questions, close: () => server.close() };
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
