import { createSocket } from 'node:dgram';
import type { Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import {
  DNS_TYPES,
  encodeAddress,
  encodeName,
  encodeText,
  readQuestion,
  record,
  writeReply,
} from './message.ts';
import type { Question, Reply } from './message.ts';

/** What a name has, or how it fails. A type that is not named has no records; a name that is not named does not exist. */
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

/** A DNS server on a loopback port, UDP and TCP, that answers from a table. */
export interface ZoneServer {
  /** `127.0.0.1:<port>` */
  readonly address: string;
  /** The questions so far, `<name> TXT`, those over TCP too. A client that gets no answer asks again. */
  readonly questions: readonly string[];
  /** By name, in lower case without trailing dot. A test may change it. */
  readonly zone: Map<string, ZoneEntry>;
  /** Set: how names are answered that are not in the table. */
  otherwise: ZoneEntry | null;
  close(): Promise<void>;
}

export async function startZoneServer(
  entries: Readonly<Record<string, ZoneEntry>> = {},
): Promise<ZoneServer> {
  const zone = new Map(Object.entries(entries));
  const questions: string[] = [];
  const open = new Set<Socket>();
  let otherwise: ZoneEntry | null = null;

  function answer(query: Buffer, isTcp: boolean): Buffer | null {
    const question = readQuestion(query);
    questions.push(`${question.name} ${typeName(question.type)}`);
    const entry = zone.get(question.name) ?? otherwise;
    if (entry === 'silence') return null;
    return writeReply(query, question, replyOf(question, entry, isTcp));
  }

  const { udp, tcp, port } = await listen();
  udp.on('message', (query, sender) => {
    const reply = answer(query, false);
    if (reply !== null) udp.send(reply, sender.port, sender.address);
  });
  tcp.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    socket.on('error', () => undefined);
    answerOverTcp(socket, (query) => answer(query, true));
  });

  return {
    address: `127.0.0.1:${port}`,
    questions,
    zone,
    get otherwise() {
      return otherwise;
    },
    set otherwise(entry) {
      otherwise = entry;
    },
    async close() {
      const closed = Promise.all([once(udp, 'close'), once(tcp, 'close')]);
      udp.close();
      tcp.close();
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}

/** One port for both protocols. Another socket may have the UDP port of the TCP port that was free: then the next one. */
async function listen(): Promise<{ udp: UdpSocket; tcp: Server; port: number }> {
  for (;;) {
    const tcp = createServer();
    tcp.listen(0, '127.0.0.1');
    await once(tcp, 'listening');
    const { port } = tcp.address() as AddressInfo;
    const udp = createSocket('udp4');
    try {
      udp.bind(port, '127.0.0.1');
      await once(udp, 'listening');
      return { udp, tcp, port };
    } catch {
      udp.close();
      tcp.close();
    }
  }
}

/** RFC 1035, section 4.2.2: each message has its length in front. */
function answerOverTcp(socket: Socket, answer: (query: Buffer) => Buffer | null): void {
  let received = Buffer.alloc(0);
  socket.on('data', (chunk) => {
    received = Buffer.concat([received, chunk]);
    while (received.length >= 2 && received.length >= 2 + received.readUInt16BE()) {
      const end = 2 + received.readUInt16BE();
      const reply = answer(received.subarray(2, end));
      received = received.subarray(end);
      if (reply === null) continue;
      const length = Buffer.alloc(2);
      length.writeUInt16BE(reply.length);
      socket.write(Buffer.concat([length, reply]));
    }
  });
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

function typeName(type: number): string {
  return Object.entries(DNS_TYPES).find(([, number]) => number === type)?.[0] ?? `TYPE${type}`;
}
