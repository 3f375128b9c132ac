import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import type { Logger } from '../logging/logger.ts';
import {
  createMetricsHandler,
  createReadinessHandler,
  type Handler,
  healthHandler,
  type ReadinessCheck,
  sendJson,
} from './handlers.ts';

export interface OperationsServerOptions {
  host: string;
  /** 0 means any free port. `OperationsServer.port` names it. */
  port: number;
  registry: Registry;
  readiness: ReadinessCheck;
  logger: Logger;
}

const notFound: Handler = async (_request, response) => {
  sendJson(response, 404, { status: 'not-found' });
};

/** Serves `/healthz`, `/readyz` and `/metrics` without an API key or a rate limit. */
export class OperationsServer {
  readonly #server: Server;
  readonly #routes: ReadonlyMap<string, Handler>;
  readonly #options: OperationsServerOptions;

  constructor(options: OperationsServerOptions) {
    this.#options = options;
    this.#routes = new Map([
      ['/healthz', healthHandler],
      ['/readyz', createReadinessHandler(options.readiness, options.logger)],
      ['/metrics', createMetricsHandler(options.registry)],
    ]);
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  /** The port it listens on. @throws Error before `start` and after `stop`. */
  get port(): number {
    const address = this.#server.address() as AddressInfo | null;
    if (address === null) throw new Error('the operations server does not listen');
    return address.port;
  }

  /** Resolves when the server listens. Rejects when the address is taken. */
  async start(): Promise<void> {
    const { host, port, logger } = this.#options;
    this.#server.listen(port, host);
    await once(this.#server, 'listening');
    logger.info('operations server listens', { host, port: this.port });
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    // Does not wait for idle connections or half-sent requests of a scraper.
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.#routeOf(request)(request, response);
    } catch (error) {
      this.#options.logger.error('operations request failed', { path: request.url, error });
      if (!response.headersSent) sendJson(response, 500, { status: 'internal' });
    }
  }

  #routeOf({ method, url = '' }: IncomingMessage): Handler {
    const path = url.split('?', 1)[0] ?? '';
    return method === 'GET' || method === 'HEAD' ? (this.#routes.get(path) ?? notFound) : notFound;
  }
}
