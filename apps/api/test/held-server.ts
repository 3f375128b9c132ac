import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { afterEach } from '@jest/globals';
import { ApiServer } from '../src/server.ts';
import type { ApiServerOptions } from '../src/server.ts';

/** A server whose app lets the test answer every request. */
export interface HeldServer {
  readonly server: ApiServer;
  readonly port: number;
  readonly next: () => Promise<[IncomingMessage, ServerResponse]>;
  /** Requests that `next` has not returned yet. */
  readonly waiting: readonly (readonly [IncomingMessage, ServerResponse])[];
}

/** @returns a function that starts a server, which stops after the test. */
export function setupHeldServer(): (options?: Partial<ApiServerOptions>) => Promise<HeldServer> {
  let started: ApiServer | undefined;
  afterEach(() => started?.stop(0));
  return async (options = {}) => {
    const waiting: [IncomingMessage, ServerResponse][] = [];
    let wake: () => void = () => undefined;
    const app: RequestListener = (request, response) => {
      waiting.push([request, response]);
      wake();
    };
    const server = new ApiServer(app, { connectionsPerAddressMax: 0, ...options });
    started = server;
    const port = await server.listen(0, '127.0.0.1');
    return {
      server,
      port,
      waiting,
      async next() {
        for (;;) {
          const first = waiting.shift();
          if (first !== undefined) return first;
          await new Promise<void>((resolve) => (wake = resolve));
        }
      },
    };
  };
}
