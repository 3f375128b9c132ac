import { isIPv6 } from 'node:net';
import { startDnsServer } from './dns-server.ts';
import type { DnsServer } from './dns-server.ts';
import { DNS_TYPES, encodeAddress, encodeName, record } from './message.ts';
import type { Question, Reply } from './message.ts';

/** The answer to a query: addresses of either family, a CNAME, an error code, or silence. */
export type NameReply =
  | { addresses: readonly string[]; ttlSeconds?: number }
  | { cname: string }
  | 'nxdomain'
  | 'servfail'
  | 'silence';

/**
 * Starts a DNS server for `Resolver.setServers`.
 *
 * @param reply answers each query. It gets names in lower case without trailing dot
 */
export function startNameServer(reply: (name: string, type: 'A' | 'AAAA') => NameReply): Promise<DnsServer> {
  return startDnsServer((question) => {
    const answer = reply(question.name, question.type === DNS_TYPES.AAAA ? 'AAAA' : 'A');
    return answer === 'silence' ? null : replyOf(question, answer);
  });
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
