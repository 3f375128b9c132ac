import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener, Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { within } from '@postrider/limits';
import { clientNetwork, Connection } from './connection.ts';

/** In milliseconds. */
const TIMEOUTS = {
  /** Limits for a whole request and for its headers. Node checks them once per interval. */
  requestTimeout: 30_000,
  headersTimeout: 10_000,
  connectionsCheckingInterval: 5_000,
  /** Load balancers drop idle connections after up to 600 s. They must drop first, or they lose requests. */
  keepAliveTimeout: 620_000,
  /** Closes a connection without traffic in either direction. */
  stalledTimeout: 120_000,
  /**
   * Closes a connection when its client reads nothing of an answer, even if it sends more. Linux reports
   * progress in steps of up to 1.7 MB: it takes more when a third of its send buffer (4 MiB) is free.
   */
  unreadTimeoutMs: 120_000,
  /** The client must close its side this soon after the last answer. */
  lingerTimeoutMs: 5_000,
};

/**
 * Node reads no further while this much of a body is unread. A body in one-byte chunks takes 240 times its
 * length: a buffer for each byte.
 */
const UNREAD_BYTES_MAX = 4_096;

/** Each connection may buffer 64 KiB outside the memory budget: 2,048 × 64 KiB = 128 MiB. */
const CONNECTIONS_MAX = 2_048;

export interface ApiServerOptions {
  /** Limit per client address. 0: only the total limit applies. */
  readonly connectionsPerAddressMax: number;
  /** Tests set the following three: shorter times, fewer connections, simulated addresses. */
  readonly timeouts?: typeof TIMEOUTS;
  readonly connectionsMax?: number;
  readonly addressOf?: (socket: Socket) => string | null;
}

/**
 * The HTTP server of the API. It limits the open connections, in total and per address. At a limit, a new
 * connection replaces the longest idle one.
 */
export class ApiServer {
  readonly #app: RequestListener;
  readonly #server: Server;
  readonly #options: Required<ApiServerOptions>;
  /** The open connections, ordered by the time of their last answer. */
  readonly #connections = new Map<Duplex, Connection>();
  #stopping = false;

  constructor(app: RequestListener, options: ApiServerOptions) {
    this.#app = app;
    this.#options = {
      timeouts: TIMEOUTS,
      connectionsMax: CONNECTIONS_MAX,
      addressOf: clientNetwork,
      ...options,
    };
    this.#server = createBareServer(this.#options.timeouts);
    this.#addListeners();
  }

  get stopping(): boolean {
    return this.#stopping;
  }

  /** @returns the port. With `port` 0, the system chooses a free one. */
  async listen(port: number, host: string): Promise<number> {
    this.#server.listen(port, host);
    await once(this.#server, 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  /** Accepts no more connections. Requests in flight have `remainingMs` to finish; then it cuts the rest. */
  async stop(remainingMs: number): Promise<void> {
    this.#stopping = true;
    for (const [socket, connection] of this.#connections) {
      // Node does not count a connection as idle before its first byte.
      if (connection.isIdle) socket.destroy();
      else connection.closeAfterAnswer();
    }
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    await within(
      () => closed,
      remainingMs,
      () => {
        // Node's `closeAllConnections` knows no connection that had a CONNECT.
        for (const socket of this.#connections.keys()) socket.destroy();
      },
    );
    await closed;
  }

  #addListeners(): void {
    const server = this.#server;
    // A connection that we have closed at a limit is not in the map, and gets no answer.
    const onRequest: RequestListener = (request, response) =>
      this.#connections.get(request.socket)?.add({ request, response });
    server.on('connection', (socket) => this.#accept(socket));
    server.on('request', onRequest);
    // The app sends `100 Continue` when it reads the body. It may ignore other expectations (RFC 9110
    // 10.1.1).
    server.on('checkContinue', onRequest);
    server.on('checkExpectation', onRequest);
    server.on('connect', (_request, socket) => this.#connections.get(socket)?.refuseTunnel());
    server.on('clientError', (error, socket) => this.#connections.get(socket)?.fail(error));
  }

  /** Closes the new connection at a limit when no other connection is idle. */
  #accept(socket: Socket): void {
    const address = this.#options.addressOf(socket);
    if (!this.#makeSpaceFor(address)) {
      socket.destroy();
      return;
    }
    const serve: RequestListener = (request, response) => {
      response.once('close', () => this.#answered(socket));
      if (this.#stopping || asksToUpgrade(request)) response.setHeader('connection', 'close');
      this.#app(request, response);
    };
    this.#connections.set(socket, new Connection(socket, address, serve, this.#options.timeouts));
    socket.once('close', () => this.#connections.delete(socket));
  }

  /** @returns false when a limit is reached and no connection is idle. */
  #makeSpaceFor(address: string | null): boolean {
    const { connectionsMax, connectionsPerAddressMax: perAddressMax } = this.#options;
    const all = [...this.#connections];
    const ofAddress = address === null ? [] : all.filter(([, connection]) => connection.address === address);
    if (perAddressMax > 0 && ofAddress.length >= perAddressMax) return this.#closeLongestIdle(ofAddress);
    return all.length < connectionsMax || this.#closeLongestIdle(all);
  }

  #closeLongestIdle(among: readonly (readonly [Duplex, Connection])[]): boolean {
    const found = among.find(([, connection]) => connection.isIdle);
    if (found === undefined) return false;
    this.#connections.delete(found[0]);
    found[0].destroy();
    return true;
  }

  /** Moves the connection to the end of the order: its answer is the newest. */
  #answered(socket: Socket): void {
    const connection = this.#connections.get(socket);
    if (connection !== undefined) {
      this.#connections.delete(socket);
      this.#connections.set(socket, connection);
    }
    if (this.#stopping) this.#server.closeIdleConnections();
  }
}

/** A server without listeners. */
function createBareServer(timeouts: typeof TIMEOUTS): Server {
  const server = createServer({ ...timeouts, requireHostHeader: false, highWaterMark: UNREAD_BYTES_MAX });
  Object.assign(server, {
    timeout: timeouts.stalledTimeout,
    maxHeadersCount: 0, // Node limits headers to 16 KiB; with a count it would silently drop some
    httpAllowHalfOpen: true, // a client may close its sending side and still read the answer
  });
  return server;
}

/**
 * The API offers no upgrade. Node serves such a request, but drops the bytes that it has read after the
 * request. We close the connection; otherwise the client waits forever for the answer to its next request.
 */
function asksToUpgrade({ headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined && /(?:^|[\s,])upgrade(?:$|[\s,])/i.test(headers.connection ?? '');
}
