import { connect } from 'node:net';
import type { Socket } from 'node:net';

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

/** @param options with `allowHalfOpen` the connection is not ended when the server ends its side. */
export async function openRaw(
  port: number,
  options: { readonly allowHalfOpen?: boolean } = {},
): Promise<RawConnection> {
  const socket = connect({ port, host: '127.0.0.1', ...options });
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

/** Sends `request` and gives back everything until the connection is closed. */
export async function rawRequest(port: number, request: string | Buffer): Promise<string> {
  const raw = await openRaw(port);
  raw.send(request);
  return raw.closed();
}
