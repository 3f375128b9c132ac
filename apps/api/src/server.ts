import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { sendBareError } from './http/bare-error.ts';

/** In milliseconds. */
const TIMEOUTS = {
  /** For a whole request, and for its headers; looked at every interval, so kept with that much delay. */
  requestTimeout: 30_000,
  headersTimeout: 10_000,
  connectionsCheckingInterval: 5_000,
  /** Longer than the 60 s after which load balancers drop an idle connection: they must be first, or lose requests. */
  keepAliveTimeout: 65_000,
};

export interface ApiServer {
  /** @returns the port: with 0 asked for, the one that was free. */
  listen(port: number, host: string): Promise<number>;
  /** Takes no more connections, lets the requests in hand finish for `deadlineMs`, then cuts those that are left. */
  stop(deadlineMs: number): Promise<void>;
  readonly stopping: boolean;
}

/** @param timeouts other ones are for tests, which cannot wait so long. */
export function createApiServer(app: RequestListener, timeouts = TIMEOUTS): ApiServer {
  const open = new Set<ServerResponse>();
  let stopping = false;

  const server = createServer(timeouts);
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    open.add(response);
    response.once('close', () => {
      open.delete(response);
      if (stopping) server.closeIdleConnections();
    });
    if (stopping) response.setHeader('connection', 'close');
    app(request, response);
  };
  server.on('request', serve);
  // The app itself says `100 Continue`, when it wants the body; other expectations may be ignored (RFC 9110 10.1.1).
  server.on('checkContinue', serve);
  server.on('checkExpectation', serve);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    // An answer that has begun must not be followed by the bytes of another.
    const begun = [...open].some((response) => response.socket === socket && response.headersSent);
    if (begun) socket.destroy();
    else sendBareError(socket, error);
  });

  return {
    async listen(port, host) {
      server.listen(port, host);
      await once(server, 'listening');
      return (server.address() as AddressInfo).port;
    },
    async stop(deadlineMs) {
      stopping = true;
      const closed = new Promise((resolve) => server.close(resolve));
      for (const response of open) {
        if (!response.headersSent) response.setHeader('connection', 'close');
      }
      const deadline = new AbortController();
      const cut = delay(deadlineMs, undefined, { signal: deadline.signal }).then(
        () => server.closeAllConnections(),
        () => undefined, // all were done in time
      );
      await closed;
      deadline.abort();
      await cut;
    },
    get stopping() {
      return stopping;
    },
  };
}
