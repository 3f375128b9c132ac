import { once } from 'node:events';
import { createServer } from 'node:http';
import type { RequestListener, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { within } from '@postrider/limits';
import { parserStatusLine } from '@postrider/runtime';

/** In milliseconds. */
const TIMEOUTS = {
  /** Limits for a request with its form and for its headers. Node checks them once per interval. */
  requestTimeout: 20_000,
  headersTimeout: 10_000,
  connectionsCheckingInterval: 5_000,
  /** Proxies drop idle connections after up to 600 s. They must drop first, or they lose requests. */
  keepAliveTimeout: 620_000,
};
/** Users are few. Further connections are refused. */
const CONNECTIONS_MAX = 512;
/** Node's 16 KiB are too few for the cookies of some proxies that sign people in. */
const HEADER_BYTES_MAX = 65_536;

/** The HTTP server of the console. */
export class ConsoleServer {
  readonly #server: Server;
  readonly #timeouts: typeof TIMEOUTS;
  readonly #sockets = new Set<Socket>();
  readonly #inFlight = new Set<ServerResponse>();
  /** Connections that stayed silent at first, and have sent no request since. */
  readonly #unused = new Set<Socket>();

  /** @param timeouts tests set shorter ones */
  constructor(app: RequestListener, timeouts = TIMEOUTS) {
    this.#timeouts = timeouts;
    this.#server = createServer({ ...timeouts, maxHeaderSize: HEADER_BYTES_MAX }, (request, response) => {
      this.#inFlight.add(response);
      this.#unused.delete(request.socket);
      if (!this.#server.listening) response.setHeader('connection', 'close');
      response.once('close', () => {
        this.#inFlight.delete(response);
        if (!this.#server.listening) this.#server.closeIdleConnections();
      });
      app(request, response);
    });
    this.#server.maxConnections = CONNECTIONS_MAX;
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => {
        this.#sockets.delete(socket);
        this.#unused.delete(socket);
      });
    });
    this.#server.on('clientError', (error, socket: Socket) => this.#fail(error, socket));
  }

  /** @returns the port. With `port` 0, the system chooses a free one. */
  async listen(port: number, host: string): Promise<number> {
    this.#server.listen(port, host);
    await once(this.#server, 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  /** Requests in flight have `deadlineMs` to finish. Then `stop` closes their connections. */
  async stop(deadlineMs: number): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close(); // also closes the idle connections
    for (const response of this.#inFlight)
      if (!response.headersSent) response.setHeader('connection', 'close');
    // Node does not count a connection as idle that has sent no byte yet. Browsers open some in advance.
    for (const socket of this.#sockets)
      if (socket.bytesRead === 0 || this.#unused.has(socket)) socket.destroy();
    await within<unknown>(
      () => closed,
      deadlineMs,
      () => this.#server.closeAllConnections(),
    );
    await closed;
  }

  /** Answers as Node does without this listener, except on a connection that has sent nothing. */
  #fail({ code = '' }: NodeJS.ErrnoException, socket: Socket): void {
    // Node's limit for the first headers begins with the connection. Proxies open connections in advance.
    if (code === 'ERR_HTTP_REQUEST_TIMEOUT' && socket.bytesRead === 0) {
      this.#unused.add(socket);
      socket.setTimeout(this.#timeouts.keepAliveTimeout);
      return;
    }
    const answerHasBegun = [...this.#inFlight].some(
      (response) => response.socket === socket && response.headersSent,
    );
    if (socket.writable && !answerHasBegun)
      socket.write(`HTTP/1.1 ${parserStatusLine(code)}\r\nConnection: close\r\n\r\n`);
    socket.destroy();
  }
}
