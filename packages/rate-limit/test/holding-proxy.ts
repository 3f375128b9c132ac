import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

/** A TCP proxy that stands between a limiter and its store, to take the store away. */
export interface HoldingProxy {
  readonly port: number;
  /**
   * Stops all bytes in both directions. Connections are accepted and stay open, as with a stopped process.
   */
  hold(): void;
  /** Forwards the held bytes and all later ones. */
  release(): void;
  /** Existing connections never pass a byte again and never end, as in a half-open network. New ones work. */
  strand(): void;
  /** Breaks every connection and refuses new ones. */
  cut(): Promise<void>;
  /** Accepts again after `cut`. */
  mend(): Promise<void>;
  close(): Promise<void>;
}

/** @param target where the store listens on loopback. */
export async function startHoldingProxy(target: number): Promise<HoldingProxy> {
  const sockets = new Set<Socket>();
  const stranded = new Set<Socket>();
  let held = false;
  const track = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined); // its other side is destroyed on 'close'
    socket.on('close', () => sockets.delete(socket));
  };
  const server = createServer({ pauseOnConnect: true }, (client) => {
    const store = connect(target, '127.0.0.1');
    for (const [from, to] of [
      [client, store],
      [store, client],
    ] as const) {
      track(from);
      from.on('data', (chunk) => to.write(chunk));
      from.on('close', () => to.destroy());
      if (held) from.pause();
      else from.resume();
    }
  });
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  const stop = async () => {
    const closed = server.listening ? once(server, 'close') : Promise.resolve();
    server.close();
    for (const socket of [...sockets, ...stranded]) socket.destroy();
    await closed;
  };
  const port = await listen(0);
  return {
    port,
    hold: () => {
      held = true;
      for (const socket of sockets) socket.pause();
    },
    release: () => {
      held = false;
      for (const socket of sockets) socket.resume();
    },
    strand: () => {
      for (const socket of sockets) {
        socket.pause();
        sockets.delete(socket);
        stranded.add(socket);
      }
    },
    cut: stop,
    mend: async () => {
      await listen(port);
    },
    close: stop,
  };
}
