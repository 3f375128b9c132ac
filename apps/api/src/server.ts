import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { endBare, sendBareError } from './http/bare-error.ts';
import { breakBody } from './http/broken-body.ts';
import { createConnectionLimits } from './http/connection-limits.ts';
import { createConnectionQueue } from './http/connection-queue.ts';
import type { ConnectionQueue } from './http/connection-queue.ts';
import { closeInTwoSteps } from './http/lingering-close.ts';
import { peerAddress } from './http/peer-address.ts';

/** In milliseconds. */
const TIMEOUTS = {
  /** For a whole request, and for its headers; looked at every interval, so kept with that much delay. */
  requestTimeout: 30_000,
  headersTimeout: 10_000,
  connectionsCheckingInterval: 5_000,
  /** Longer than the 60 s after which load balancers drop an idle connection: they must be first, or lose requests. */
  keepAliveTimeout: 65_000,
  /** For a connection on which nothing moves in either direction, as when a client does not read its answer. */
  stalledTimeout: 60_000,
  /** For a client to close its side behind the last answer of its connection. */
  lingerTimeout: 5_000,
};

/** Each connection may buffer 64 KiB outside the memory budget: 2,048 × 64 KiB = 128 MiB. */
const CONNECTIONS_MAX = 2_048;

export interface ApiServerOptions {
  /** Connections of one address at the most; 0: as many as there may be in all. */
  readonly connectionsPerAddressMax: number;
  /** The rest is for tests, which cannot wait so long, nor open so many connections, nor come from other machines. */
  readonly timeouts?: typeof TIMEOUTS;
  readonly connectionsMax?: number;
  readonly addressOf?: (socket: Socket) => string | null;
}

export interface ApiServer {
  /** @returns the port: with 0 asked for, the one that was free. */
  listen(port: number, host: string): Promise<number>;
  /** Takes no more connections, lets the requests in hand finish for `deadlineMs`, then cuts those that are left. */
  stop(deadlineMs: number): Promise<void>;
  readonly stopping: boolean;
}

export function createApiServer(app: RequestListener, options: ApiServerOptions): ApiServer {
  const { timeouts = TIMEOUTS, connectionsMax = CONNECTIONS_MAX, addressOf = remoteAddressOf } = options;
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
  // The app itself says `100 Continue`, when it wants the body; other expectations may be ignored (RFC 9110 10.1.1).
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

/** Cuts what is left at the deadline. */
async function closeServer(server: Server, deadlineMs: number): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  const deadline = new AbortController();
  const cut = delay(deadlineMs, undefined, { signal: deadline.signal }).then(
    () => server.closeAllConnections(),
    () => undefined, // all were done in time
  );
  await closed;
  deadline.abort();
  await cut;
}

function remoteAddressOf(socket: Socket): string | null {
  return peerAddress(socket.remoteAddress);
}

/** A server to which nothing listens yet. */
function createBareServer(timeouts: typeof TIMEOUTS): Server {
  const server = createServer({ ...timeouts, requireHostHeader: false });
  Object.assign(server, {
    timeout: timeouts.stalledTimeout,
    maxHeadersCount: 0, // they have 16 KiB together; over a count Node would drop some without a word
    httpAllowHalfOpen: true, // a client may close its side once it has sent everything, and still read the answer
  });
  return server;
}

/** What Node calls a Duplex is a socket wherever the server itself has taken the connection. */
function asSocket(duplex: Duplex): Socket {
  if (duplex instanceof Socket) return duplex;
  throw new TypeError('a connection that is no socket');
}

/**
 * Upgrading is not offered. Node serves such a request, but throws away what it has read behind it: the connection
 * must not go on, or the client would wait for ever for the answer to its next request.
 */
function asksToUpgrade({ headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined && /(?:^|[\s,])upgrade(?:$|[\s,])/i.test(headers.connection ?? '');
}

/**
 * Ends a connection on which something came that cannot be read. A request that is being served keeps its answer: what
 * it has done must not be answered by an error. Called again for whatever still comes.
 */
function endConnection(
  socket: Socket,
  queue: ConnectionQueue | undefined,
  error: NodeJS.ErrnoException,
): void {
  queue?.dropWaiting();
  if (socket.writableEnded) return; // its last answer is out: whatever comes is thrown away
  const current = queue?.current ?? null;
  if (current === null) {
    // What comes late may be the rest of a request that is answered already: nothing more is owed.
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
    socket.destroySoon(); // what is written of the answer may still be on its way
    return;
  }
  if (!request.complete) {
    const late = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
    breakBody(request, late ? 'did not arrive in time' : 'is not well-formed HTTP');
  }
  // An answer that has begun cannot say so any more.
  if (response.headersSent) response.once('close', () => socket.destroySoon());
  else response.setHeader('connection', 'close');
}
