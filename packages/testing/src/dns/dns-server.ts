import { createSocket } from 'node:dgram';
import type { Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import { listen } from '../listening-server.ts';
import type { ListeningServer } from '../listening-server.ts';
import { DNS_TYPES, readQuestion, writeReply } from './message.ts';
import type { Question, Reply } from './message.ts';

export interface DnsServer {
  /** `127.0.0.1:<port>` */
  readonly address: string;
  /** All questions so far, such as `<name> TXT`, or `malformed`. A client that gets no answer asks again. */
  readonly questions: readonly string[];
  close(): Promise<void>;
}

/** Starts a DNS server on one loopback port, over UDP and TCP. @param reply returns null for no answer */
export async function startDnsServer(
  reply: (question: Question, isTcp: boolean) => Reply | null,
): Promise<DnsServer> {
  const questions: string[] = [];

  function answer(query: Buffer, isTcp: boolean): Buffer | null {
    const question = questionIn(query);
    if (question === null) {
      questions.push('malformed');
      return null;
    }
    questions.push(`${question.name} ${typeName(question.type)}`);
    const replied = reply(question, isTcp);
    return replied === null ? null : writeReply(query, question, replied);
  }

  const { udp, tcp, listening } = await listenOverUdpAndTcp();
  udp.on('message', (query, sender) => {
    const replied = answer(query, false);
    if (replied !== null) udp.send(replied, sender.port, sender.address);
  });
  tcp.on('connection', (socket: Socket) => {
    socket.on('error', () => undefined);
    answerOverTcp(socket, (query) => answer(query, true));
  });

  return {
    address: `127.0.0.1:${listening.port}`,
    questions,
    async close() {
      udp.close();
      await listening.close();
    },
  };
}

/** Returns null when the message ends before its question does. */
function questionIn(query: Buffer): Question | null {
  try {
    return readQuestion(query);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** Takes a free TCP port and the UDP port of that number. Tries another number if the UDP port is taken. */
async function listenOverUdpAndTcp(): Promise<{ udp: UdpSocket; tcp: Server; listening: ListeningServer }> {
  for (;;) {
    const tcp = createServer();
    const listening = await listen(tcp);
    const udp = createSocket('udp4');
    try {
      udp.bind(listening.port, '127.0.0.1');
      await once(udp, 'listening');
      return { udp, tcp, listening };
    } catch {
      udp.close();
      await listening.close();
    }
  }
}

/** RFC 1035, section 4.2.2: each message follows its length. */
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

function typeName(type: number): string {
  return Object.entries(DNS_TYPES).find(([, number]) => number === type)?.[0] ?? `TYPE${type}`;
}
