import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';

/** No server listens on this port. The port of a server that has closed may belong to another server soon. */
export const CLOSED_PORT = 2;

/** A TCP or HTTP server that listens. */
export interface ListeningServer {
  /** 0 when it listens on a path. */
  readonly port: number;
  /** The number of open connections. */
  readonly openSockets: number;
  /** Ends every connection and stops listening. */
  readonly close: () => Promise<void>;
}

/** @param at a host, with any free port if none is given, or the path of a unix socket. Unset: loopback */
export async function listen(
  server: Server,
  at: { readonly host: string; readonly port?: number | undefined } | { readonly path: string } = {
    host: '127.0.0.1',
  },
): Promise<ListeningServer> {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  server.listen('path' in at ? at : { host: at.host, port: at.port ?? 0 });
  await once(server, 'listening');
  return {
    port: 'path' in at ? 0 : (server.address() as AddressInfo).port,
    get openSockets() {
      return open.size;
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}
