import { once } from 'node:events';
import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { within } from '@postrider/limits';

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

/** The HTTP server of the console. */
export class ConsoleServer {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor(app: RequestListener) {
    this.#server = createServer(TIMEOUTS, (request, response) => {
      response.once('close', () => {
        if (!this.#server.listening) this.#server.closeIdleConnections();
      });
      app(request, response);
    });
    this.#server.maxConnections = CONNECTIONS_MAX;
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  /** @returns the port. With `port` 0, the system chooses a free one. */
  async listen(port: number, host: string): Promise<number> {
    this.#server.listen(port, host);
    await once(this.#server, 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  /** Requests in flight have `deadlineMs` to finish; then it cuts the rest. */
  async stop(deadlineMs: number): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close(); // also closes the idle connections
    // Node does not count a connection as idle that has sent no byte yet. Browsers open some in advance.
    for (const socket of this.#sockets) if (socket.bytesRead === 0) socket.destroy();
    await within<unknown>(
      () => closed,
      deadlineMs,
      () => this.#server.closeAllConnections(),
    );
    await closed;
  }
}
