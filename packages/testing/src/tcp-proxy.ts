import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { startTcpListener } from './receiver/tcp-listener.ts';

/** A way to a server, as Postgres or Redis, that can be cut, or fall silent as a stopped process does. */
export interface TcpProxy {
  /** `url` with the proxy's address in place of the server's. */
  url(url: string): string;
  /** How many connections were made to it since it started. */
  readonly connections: number;
  /** How many new connections were cut off since the last cut. */
  readonly cutOff: number;
  /** Cuts every connection, and every new one at once. */
  cut(): void;
  /** Cuts as soon as one side says `words`, and from then on. */
  cutAt(words: string): void;
  /** Takes what comes and passes nothing on, in neither direction. */
  silence(): void;
  /** The half-open connection: those that stand now carry nothing any more and are never told; new ones are well. */
  mute(): void;
  /** Carries the questions and loses the answers. */
  loseAnswers(): void;
  /** New connections go to another server, as behind an address that moved. Open ones stay where they are. */
  retarget(target: string): void;
  /** Lets everything pass again; connections that were cut stay cut. */
  restore(): void;
  close(): Promise<void>;
}

/** @param target the server, as a URL with host and port. */
export async function startTcpProxy(target: string): Promise<TcpProxy> {
  let server = new URL(target);
  const sockets = new Set<Socket>();
  const muted = new WeakSet<Socket>();
  let state: 'open' | 'cut' | 'silent' | 'answers lost' = 'open';
  let fatalWords: string | null = null;
  let connections = 0;
  let cutOff = 0;

  function cut(): void {
    state = 'cut';
    cutOff = 0;
    for (const socket of sockets) socket.destroy();
  }

  function join(from: Socket, to: Socket, passes: () => boolean): void {
    sockets.add(from);
    from.on('error', () => to.destroy());
    from.on('close', () => {
      sockets.delete(from);
      to.destroy();
    });
    from.on('data', (chunk) => {
      if (fatalWords !== null && chunk.includes(fatalWords)) cut();
      if (passes() && !muted.has(from)) to.write(chunk);
    });
  }

  const listener = await startTcpListener((client) => {
    connections += 1;
    if (state === 'cut') {
      cutOff += 1;
      client.destroy();
      return;
    }
    const upstream = connect(Number(server.port), server.hostname);
    join(client, upstream, () => state === 'open' || state === 'answers lost');
    join(upstream, client, () => state === 'open');
  });

  return {
    url: (url) => Object.assign(new URL(url), { hostname: '127.0.0.1', port: String(listener.port) }).href,
    get connections() {
      return connections;
    },
    get cutOff() {
      return cutOff;
    },
    cut,
    cutAt: (words) => void (fatalWords = words),
    silence: () => void (state = 'silent'),
    mute() {
      for (const socket of sockets) muted.add(socket);
    },
    loseAnswers: () => void (state = 'answers lost'),
    retarget: (moved) => void (server = new URL(moved)),
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
