import { connect, type Socket, type TcpNetConnectOpts } from 'node:net';

/** A connection made before there is a request for it. */
export interface EarlyConnection {
  /** Resolves when the request may go its way; rejects when it need not. */
  readonly made: Promise<void>;
  /** Gives it up, unless a request has it. */
  discard(): void;
}

interface Kept {
  readonly socket: Socket;
  /** It is there, or has failed. Never rejects. */
  readonly settled: Promise<void>;
}

/** How long others wait for a connection that is being made: it may be the one that does not come up. */
const patienceMs = 250;

/**
 * Connections made before there is a request for them, of each host and port one at a time.
 *
 * A request and its TLS are most of what an attempt costs this process. An endpoint that refuses the connection, as one that
 * is down does for hours, needs neither.
 */
export class EarlyConnections {
  readonly #kept = new Map<string, Kept>();
  #closed = false;

  /** @param onConnect called before anybody else hears of it; it may destroy the socket with an error */
  open(key: string, options: TcpNetConnectOpts, onConnect: (socket: Socket) => void): EarlyConnection {
    const socket = connect(options);
    // What comes before the request has it stays in the kernel: an end or an error that was read here would be nobody's.
    socket.pause();
    const made = new Promise<void>((resolve, reject) => {
      socket.on('error', reject);
      socket.once('close', () => reject(givenUp()));
      socket.once('connect', () => {
        onConnect(socket);
        if (!socket.destroyed) resolve();
      });
    });
    this.#kept.set(key, { socket, settled: made.catch(() => undefined) });
    socket.once('close', () => this.#forget(key, socket));
    const discard = () => {
      if (this.#forget(key, socket)) socket.destroy();
    };
    return { made, discard };
  }

  /**
   * For one more request, while the connection of another is being made: resolves when that is there, has failed, or takes
   * its time.
   */
  another(key: string): EarlyConnection | null {
    const kept = this.#kept.get(key);
    if (kept?.socket.connecting !== true) return null;
    const made = new Promise<void>((resolve, reject) => {
      const timer = setTimeout(resolve, patienceMs);
      void kept.settled.then(() => {
        clearTimeout(timer);
        if (this.#closed) reject(givenUp());
        else resolve();
      });
    });
    return { made, discard: () => undefined };
  }

  /** The connection is the caller's from now on. Undefined: there is none, or it is not there yet, or not any more. */
  take(key: string): Socket | undefined {
    const socket = this.#kept.get(key)?.socket;
    if (socket === undefined || socket.connecting || socket.destroyed) return undefined;
    this.#kept.delete(key);
    return socket;
  }

  has(key: string): boolean {
    return this.#kept.has(key);
  }

  closeAll(): void {
    this.#closed = true;
    for (const { socket } of this.#kept.values()) socket.destroy();
  }

  /** @returns false when it was not kept here any more */
  #forget(key: string, socket: Socket): boolean {
    return this.#kept.get(key)?.socket === socket && this.#kept.delete(key);
  }
}

function givenUp(): Error {
  return new Error('the connection was given up');
}
