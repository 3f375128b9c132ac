import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { within } from '@postrider/limits';
import { endBare, sendBareError } from './http/bare-error.ts';
import { breakBody } from './http/broken-body.ts';
import { clientNetwork, ConnectionLimits } from './http/connection-limits.ts';
import { ConnectionQueue } from './http/connection-queue.ts';
import { closeInTwoSteps } from './http/lingering-close.ts';
import { closeWhenUnread } from './http/unread-answer.ts';

/** In milliseconds. */
const TIMEOUTS = {
  /** Limits for a whole request and for its headers. Node checks them once per interval. */
  requestTimeout: 30_000,
  headersTimeout: 10_000,
  connectionsCheckingInterval: 5_000,
  /** Load balancers drop idle connections after 60 s. They must drop first, or they lose requests. */
  keepAliveTimeout: 65_000,
  /** Closes a connection without traffic in either direction. */
  stalledTimeout: 60_000,
  /** Closes a connection when its client reads nothing of an answer, even if it sends more. */
  unreadTimeout: 30_000,
  /** The client must close its side this soon after the last answer. */
  lingerTimeout: 5_000,
};

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

/** The HTTP server of the API. It limits connections, and serves the requests of each connection in order. */
export class ApiServer {
  readonly #app: RequestListener;
  readonly #server: Server;
  readonly #limits: ConnectionLimits;
  readonly #queues = new WeakMap<Socket, ConnectionQueue>();
  readonly #open = new Set<ServerResponse>();
  #stopping = false;

  constructor(app: RequestListener, options: ApiServerOptions) {
    const { timeouts = TIMEOUTS, connectionsMax = CONNECTIONS_MAX, addressOf = clientNetwork } = options;
    this.#app = app;
    this.#limits = new ConnectionLimits({
      max: connectionsMax,
      perAddressMax: options.connectionsPerAddressMax,
      addressOf,
      isServing: (socket) => (this.#queues.get(socket)?.current ?? null) !== null,
    });
    this.#server = createBareServer(timeouts);
    this.#addListeners(timeouts);
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

  /** Accepts no more connections. Requests in flight have `deadlineMs` to finish; then it cuts the rest. */
  async stop(deadlineMs: number): Promise<void> {
    this.#stopping = true;
    for (const response of this.#open) {
      if (!response.headersSent) response.setHeader('connection', 'close');
    }
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    await within(
      () => closed,
      deadlineMs,
      () => this.#server.closeAllConnections(),
    );
    await closed;
  }

  #addListeners({ lingerTimeout, unreadTimeout }: typeof TIMEOUTS): void {
    const server = this.#server;
    const serve: RequestListener = (request, response) => this.#serve(request, response);
    const take: RequestListener = (request, response) => {
      const { socket } = request;
      const queue = this.#queues.get(socket) ?? new ConnectionQueue(socket, serve);
      this.#queues.set(socket, queue);
      queue.add({ request, response });
    };
    server.on('connection', (socket) => {
      closeInTwoSteps(socket, lingerTimeout);
      closeWhenUnread(socket, unreadTimeout);
      this.#limits.add(socket);
    });
    server.on('request', take);
    // The app sends `100 Continue` when it reads the body. It may ignore other expectations (RFC 9110
    // 10.1.1).
    server.on('checkContinue', take);
    server.on('checkExpectation', take);
    server.on('connect', (_request, socket) => endBare(asSocket(socket), '404 Not Found'));
    server.on('clientError', (error: NodeJS.ErrnoException, duplex) => {
      const socket = asSocket(duplex);
      endConnection(socket, this.#queues.get(socket), error);
    });
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    this.#open.add(response);
    response.once('close', () => {
      this.#open.delete(response);
      this.#limits.answered(request.socket);
      if (this.#stopping) this.#server.closeIdleConnections();
    });
    if (this.#stopping || asksToUpgrade(request)) response.setHeader('connection', 'close');
    this.#app(request, response);
  }
}

/** A server without listeners. */
function createBareServer(timeouts: typeof TIMEOUTS): Server {
  const server = createServer({ ...timeouts, requireHostHeader: false });
  Object.assign(server, {
    timeout: timeouts.stalledTimeout,
    maxHeadersCount: 0, // Node limits headers to 16 KiB; with a count it would silently drop some
    httpAllowHalfOpen: true, // a client may close its sending side and still read the answer
  });
  return server;
}

/** Node types the connection as a Duplex. On a connection that this server accepted, it is a socket. */
function asSocket(duplex: Duplex): Socket {
  if (duplex instanceof Socket) return duplex;
  throw new TypeError('a connection that is no socket');
}

/**
 * The API offers no upgrade. Node serves such a request, but drops the bytes that it has read after it. We
 * close the connection; otherwise the client waits forever for the answer to its next request.
 */
function asksToUpgrade({ headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined && /(?:^|[\s,])upgrade(?:$|[\s,])/i.test(headers.connection ?? '');
}

/**
 * Ends a connection after bytes that Node could not parse. A request in flight keeps its own answer: an error
 * must not hide what the request has done. Node may call this several times for one connection.
 */
function endConnection(
  socket: Socket,
  queue: ConnectionQueue | undefined,
  error: NodeJS.ErrnoException,
): void {
  queue?.dropWaiting();
  if (socket.writableEnded) return; // the last answer is sent, and later bytes are dropped
  const current = queue?.current ?? null;
  if (current === null) {
    // The bytes may be the rest of a request that already has its answer.
    if (queue?.owesRest === true) socket.destroySoon();
    else sendBareError(socket, error);
    return;
  }
  const { request, response } = current;
  if (error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  if (response.headersSent && !request.complete) {
    socket.destroySoon(); // sends the written part of the answer first
    return;
  }
  if (!request.complete) {
    const late = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
    breakBody(request, late ? 'did not arrive in time' : 'is not well-formed HTTP');
  }
  // An answer in progress has sent its headers, so the connection closes after it.
  if (response.headersSent) response.once('close', () => socket.destroySoon());
  else response.setHeader('connection', 'close');
}
