import { createConnection } from 'node:net';
import type { Socket } from 'node:net';
import { afterEach } from '@jest/globals';

/** Bytes on a connection of their own, for what no HTTP client would send. One that is refused is closed from the start. */
export interface RawConnection {
  readonly socket: Socket;
  send(bytes: string | Buffer): void;
  /** What came back so far. */
  received(): string;
  /** What came back, once it contains `words`. */
  until(words: string): Promise<string>;
  /** What came back, once the connection is closed, broken or not. */
  closed(): Promise<string>;
}

/** The connections of a test. */
export interface RawConnections {
  readonly open: RawConnection[];
  readonly connect: (port: number) => Promise<RawConnection>;
  /** Reads no more than the head of the answer. Resolves when the status line is there. */
  readonly askUnread: (port: number, path: string, authorization?: string) => Promise<RawConnection>;
}

/** @param options with `allowHalfOpen` the connection is not ended when the server ends its side. */
export async function openRaw(
  port: number,
  options: { readonly allowHalfOpen?: boolean } = {},
): Promise<RawConnection> {
  const socket = createConnection({ port, host: '127.0.0.1', ...options });
  const chunks: Buffer[] = [];
  const received = (): string => Buffer.concat(chunks).toString('latin1');
  const whenClosed = new Promise<string>((resolve) => socket.once('close', () => resolve(received())));
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await Promise.race([new Promise((resolve) => socket.once('connect', resolve)), whenClosed]);
  return {
    socket,
    send: (bytes) => void socket.write(bytes),
    received,
    async until(words) {
      while (!received().includes(words)) {
        await Promise.race([
          new Promise((resolve) => socket.once('data', resolve)),
          whenClosed.then(() => {
            if (!received().includes(words)) throw new Error(`closed after: ${received()}`);
          }),
        ]);
      }
      return received();
    },
    closed: async () => whenClosed,
  };
}

/** Registers a hook that destroys the connections of a test at its end. */
export function setupRawConnections(): RawConnections {
  const open: RawConnection[] = [];
  afterEach(() => open.splice(0).forEach(({ socket }) => socket.destroy()));
  async function connect(port: number): Promise<RawConnection> {
    const raw = await openRaw(port);
    open.push(raw);
    return raw;
  }
  return {
    open,
    connect,
    async askUnread(port, path, authorization) {
      const raw = await connect(port);
      raw.socket.once('data', () => raw.socket.pause());
      const key = authorization === undefined ? '' : `Authorization: ${authorization}\r\n`;
      raw.send(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${key}\r\n`);
      await raw.until('\r\n');
      return raw;
    },
  };
}

/** Sends `request` and gives back everything until the connection is closed. */
export async function rawRequest(port: number, request: string | Buffer): Promise<string> {
  const raw = await openRaw(port);
  raw.send(request);
  return raw.closed();
}
