import { once } from 'node:events';
import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { within } from '@postrider/limits';

/** In milliseconds: a request with its form, its headers, and the interval of the check. */
const TIMEOUTS = { requestTimeout: 20_000, headersTimeout: 10_000, connectionsCheckingInterval: 5_000 };
/** Users are few. Further connections are refused. */
const CONNECTIONS_MAX = 512;

/** The HTTP server of the console. */
export class ConsoleServer {
  readonly #server: Server;

  constructor(app: RequestListener) {
    this.#server = createServer(TIMEOUTS, app);
    this.#server.maxConnections = CONNECTIONS_MAX;
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
    this.#server.close();
    this.#server.closeIdleConnections();
    await within<unknown>(
      () => closed,
      deadlineMs,
      () => this.#server.closeAllConnections(),
    );
    await closed;
  }
}
