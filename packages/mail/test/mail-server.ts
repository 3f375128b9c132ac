import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import type { Socket } from 'node:net';
import { listen } from '@postrider/testing';
import { SMTPServer } from 'smtp-server';
import type { SMTPServerOptions } from 'smtp-server';

/** A message as a server took it. */
export interface TakenMessage {
  readonly envelope: { readonly from: string; readonly to: readonly string[] };
  readonly bytes: Buffer;
}

export interface MailServer {
  readonly url: string;
  readonly taken: readonly TakenMessage[];
  readonly connections: () => number;
  close(): Promise<void>;
}

/** A real SMTP server on loopback without TLS, that takes everything unless `options` say otherwise. */
export async function startMailServer(options: SMTPServerOptions = {}): Promise<MailServer> {
  const taken: TakenMessage[] = [];
  let connections = 0;
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    closeTimeout: 100,
    onConnect: (_session, callback) => {
      connections += 1;
      callback();
    },
    onData: (stream, session, callback) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope;
        const from = mailFrom === false ? '' : mailFrom.address;
        taken.push({
          envelope: { from, to: rcptTo.map(({ address }) => address) },
          bytes: Buffer.concat(chunks),
        });
        callback();
      });
    },
    ...options,
  });
  server.on('error', () => undefined); // a client that goes away is what some tests are about
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  const { port } = server.server.address() as AddressInfo;
  return {
    url: `smtp://127.0.0.1:${port}`,
    taken,
    connections: () => connections,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

export interface RawServer {
  readonly url: string;
  /** Whole lines that clients have sent. */
  readonly lines: readonly string[];
  close(): Promise<void>;
}

/** A server that speaks by script: `greet` on connect, then `reply` to each line; null says nothing. */
export async function startRawServer(
  greet: string | null,
  reply: (line: string, socket: Socket) => string | null,
): Promise<RawServer> {
  const lines: string[] = [];
  const server = createServer((socket) => {
    let rest = '';
    socket.on('error', () => undefined);
    if (greet !== null) socket.write(`${greet}\r\n`);
    socket.on('data', (chunk) => {
      const parts = (rest + chunk.toString('latin1')).split('\r\n');
      rest = parts.pop() ?? '';
      for (const line of parts) {
        lines.push(line);
        const answer = reply(line, socket);
        if (answer !== null) socket.write(`${answer}\r\n`);
      }
    });
  });
  const { port, close } = await listen(server);
  return { url: `smtp://127.0.0.1:${port}`, lines, close };
}
