import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { endBare, sendBareError } from './http/bare-error.ts';
import { breakBody } from './http/broken-body.ts';
import { clientNetwork, createConnectionLimits } from './http/connection-limits.ts';
import { createConnectionQueue } from './http/connection-queue.ts';
import type { ConnectionQueue } from './http/connection-queue.ts';
import { closeInTwoSteps } from './http/lingering-close.ts';

/** In milliseconds. */
const TIMEOUTS = {
  /** Limits for a whole request and for its headers. Node checks them once per interval. */
  requestTimeout: 30_000,
  headersTimeout: 10_000,
  connectionsCheckingInterval: 5_000,
  /** Load balancers drop idle connections after 60 s. They must drop first, or they lose requests. */
  keepAliveTimeout: 65_000,
  /** Closes a connection without traffic in either direction: the client may not be reading its answer. */
  stalledTimeout: 60_000,
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

export interface ApiServer {
  /** @returns the port. With `port` 0, the system chooses a free one. */
  listen(port: number, host: string): Promise<number>;
  /** Accepts no more connections. Requests in flight have `deadlineMs` to finish; then it cuts the rest. */
  stop(deadlineMs: number): Promise<void>;
  readonly stopping: boolean;
}

export function createApiServer(app: RequestListener, options: ApiServerOptions): ApiServer {
  const { timeouts = TIMEOUTS, connectionsMax = CONNECTIONS_MAX, addressOf = clientNetwork } = options;
  const open = new Set<ServerResponse>();
  let stopping = false;

  const server = createBareServer(timeouts);
  const queues = new WeakMap<Socket, ConnectionQueue>();
  const limits = createConnectionLimits({
    max: connectionsMax,
    perAddressMax: options.connectionsPerAddressMax,
    addressOf,
    isServing: (socket) => (queues.get(socket)?.current ?? null) !== null,
  });

  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    open.add(response);
    response.once('close', () => {
      open.delete(response);
      limits.answered(request.socket);
      if (stopping) server.closeIdleConnections();
    });
    if (stopping || asksToUpgrade(request)) response.setHeader('connection', 'close');
    app(request, response);
  };
  const queueOf = (socket: Socket): ConnectionQueue => {
    const queue = queues.get(socket) ?? createConnectionQueue(socket, serve);
    queues.set(socket, queue);
    return queue;
  };
  const take = (request: IncomingMessage, response: ServerResponse): void =>
    queueOf(request.socket).add({ request, response });
  server.on('connection', (socket) => {
    closeInTwoSteps(socket, timeouts.lingerTimeout);
    limits.add(socket);
  });
  server.on('request', take);
  // The app sends `100 Continue` when it reads the body. It may ignore other expectations (RFC 9110 10.1.1).
  server.on('checkContinue', take);
  server.on('checkExpectation', take);
  server.on('connect', (_request, socket) => endBare(asSocket(socket), '404 Not Found'));
  server.on('clientError', (error: NodeJS.ErrnoException, duplex) => {
    const socket = asSocket(duplex);
    endConnection(socket, queues.get(socket), error);
  });

  return {
    async listen(port, host) {
      server.listen(port, host);
      await once(server, 'listening');
      return (server.address() as AddressInfo).port;
    },
    async stop(deadlineMs) {
      stopping = true;
      for (const response of open) {
        if (!response.headersSent) response.setHeader('connection', 'close');
      }
      await closeServer(server, deadlineMs);
    },
    get stopping() {
      return stopping;
    },
  };
}

/** Waits for the connections to close, and cuts them at the deadline. */
async function closeServer(server: Server, deadlineMs: number): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  const deadline = new AbortController();
  const cut = delay(deadlineMs, undefined, { signal: deadline.signal }).then(
    () => server.closeAllConnections(),
    () => undefined, // all closed in time
  );
  await closed;
  deadline.abort();
  await cut;
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
