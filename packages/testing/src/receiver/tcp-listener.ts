import { createServer, type Socket } from 'node:net';
import { listen } from '../listening-server.ts';

/** A bare TCP port: a canary that counts connections, or a server that breaks the TLS handshake. */
export interface TcpListener {
  port: number;
  readonly connections: number;
  readonly openSockets: number;
  /** All received bytes of all connections. */
  readonly received: Buffer;
  close(): Promise<void>;
}

/**
 * @param onSocket gets each connection. Unset: the connection stays open in silence
 * @param host default `127.0.0.1`
 */
export async function startTcpListener(
  onSocket?: (socket: Socket) => void,
  host = '127.0.0.1',
): Promise<TcpListener> {
  const received: Buffer[] = [];
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => received.push(chunk));
    onSocket?.(socket);
  });
  const listening = await listen(server, { host });
  return {
    port: listening.port,
    get connections() {
      return connections;
    },
    get openSockets() {
      return listening.openSockets;
    },
    get received() {
      return Buffer.concat(received);
    },
    close: listening.close,
  };
}
