import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

/** A bare TCP port, beneath TLS: a canary that counts who connects, or a server that breaks the handshake. */
export interface TcpListener {
  port: number;
  readonly connections: number;
  readonly openSockets: number;
  /** Everything that was received, over all connections. */
  readonly received: Buffer;
  close(): Promise<void>;
}

/**
 * @param onSocket what to do with a connection; without it the connection stays open in silence
 * @param host default `127.0.0.1`
 */
export async function startTcpListener(
  onSocket?: (socket: Socket) => void,
  host = '127.0.0.1',
): Promise<TcpListener> {
  const open = new Set<Socket>();
  const received: Buffer[] = [];
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    open.add(socket);
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => received.push(chunk));
    socket.once('close', () => open.delete(socket));
    onSocket?.(socket);
  });
  server.listen(0, host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return connections;
    },
    get openSockets() {
      return open.size;
    },
    get received() {
      return Buffer.concat(received);
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}
