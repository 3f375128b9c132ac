import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { startTcpListener } from '@postrider/testing';

/** A way to a server that can be cut, or fall silent as a stopped process does. */
export interface TcpProxy {
  /** `url` with the proxy's address in place of the server's. */
  url(url: string): string;
  /** Cuts every connection, and every new one at once. */
  cut(): void;
  /** Cuts as soon as a client says `words`, and from then on. */
  cutAt(words: string): void;
  /** Takes what comes and passes nothing on, in neither direction. */
  silence(): void;
  /** Lets everything pass again; connections that were cut stay cut. */
  restore(): void;
  close(): Promise<void>;
}

export async function startTcpProxy(target: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let state: 'open' | 'cut' | 'silent' = 'open';
  let fatalWords: string | null = null;

  function cut(): void {
    state = 'cut';
    for (const socket of sockets) socket.destroy();
  }

  function pass(from: Socket, to: Socket): void {
    sockets.add(from);
    from.on('error', () => to.destroy());
    from.on('close', () => {
      sockets.delete(from);
      to.destroy();
    });
    from.on('data', (chunk) => {
      if (fatalWords !== null && chunk.includes(fatalWords)) cut();
      if (state === 'open') to.write(chunk);
    });
  }

  const listener = await startTcpListener((client) => {
    if (state === 'cut') {
      client.destroy();
      return;
    }
    const server = connect(Number(port), hostname);
    pass(client, server);
    pass(server, client);
  });

  return {
    url: (url) => Object.assign(new URL(url), { hostname: '127.0.0.1', port: String(listener.port) }).href,
    cut,
    cutAt: (words) => void (fatalWords = words),
    silence: () => void (state = 'silent'),
    restore() {
      state = 'open';
      fatalWords = null;
    },
    async close() {
      cut();
      await listener.close();
    },
  };
}
