import { startDnsServer } from './dns-server.ts';
import type { DnsServer } from './dns-server.ts';
import { DNS_TYPES, encodeAddress, encodeName, encodeText, record } from './message.ts';
import type { Question, Reply } from './message.ts';

/** The records of a name, or its failure. A type without records is empty. */
export type ZoneEntry =
  | {
      A?: readonly string[];
      AAAA?: readonly string[];
      TXT?: readonly string[];
      PTR?: readonly string[];
      MX?: readonly { priority: number; exchange: string }[];
      /** True: the answer over UDP is empty and says that it is truncated. Over TCP it is whole. */
      truncated?: boolean;
    }
  | 'servfail'
  | 'silence';

/** A DNS server that answers from a table. */
export interface ZoneServer extends DnsServer {
  /** The entries by name, in lower case without trailing dot. A test may change them. */
  readonly zone: Map<string, ZoneEntry>;
  /** The entry of all names that are not in the table. Null, as at the start: they do not exist. */
  otherwise: ZoneEntry | null;
}

export async function startZoneServer(
  entries: Readonly<Record<string, ZoneEntry>> = {},
): Promise<ZoneServer> {
  const zone = new Map(Object.entries(entries));
  const server = await startDnsServer((question, isTcp) => {
    const entry = zone.get(question.name) ?? started.otherwise;
    return entry === 'silence' ? null : replyOf(question, entry, isTcp);
  });
  const started: ZoneServer = { ...server, zone, otherwise: null };
  return started;
}

function replyOf(question: Question, entry: Exclude<ZoneEntry, 'silence'> | null, isTcp: boolean): Reply {
  if (entry === null) return { code: 'nxdomain' };
  if (entry === 'servfail') return { code: 'servfail' };
  return {
    code: 'noerror',
    records: recordsOf(question.type, entry),
    isTruncated: entry.truncated === true && !isTcp,
  };
}

function recordsOf(type: number, entry: Exclude<ZoneEntry, string>): Buffer[] {
  const data: Partial<Record<number, Buffer[]>> = {
    [DNS_TYPES.A]: entry.A?.map(encodeAddress),
    [DNS_TYPES.AAAA]: entry.AAAA?.map(encodeAddress),
    [DNS_TYPES.TXT]: entry.TXT?.map(encodeText),
    [DNS_TYPES.PTR]: entry.PTR?.map(encodeName),
    [DNS_TYPES.MX]: entry.MX?.map(({ priority, exchange }) =>
      Buffer.concat([Buffer.of(priority >> 8, priority & 255), encodeName(exchange)]),
    ),
  };
  return (data[type] ?? []).map((bytes) => record(type, 0, bytes));
}
