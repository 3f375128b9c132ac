import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';

export interface BareExpressCommands extends Record<string, (argument: never) => unknown> {
  /** @returns the port it listens on, on 127.0.0.1 */
  readonly listen: (argument: null) => Promise<number>;
}

/** The yardstick: an Express route that parses the JSON of a request and answers with an id, and nothing else. */
export function bareExpressCommands(): BareExpressCommands {
  return {
    async listen() {
      const app = express();
      app.use(express.json({ limit: '8mb' }));
      let answered = 0;
      app.post('/v1/emails', (request, response) => {
        const { from } = request.body as { from: string };
        response.json({ id: `em_bare_${from.length}_${++answered}` });
      });
      const server = createServer(app).listen(0, '127.0.0.1');
      await once(server, 'listening');
      return (server.address() as AddressInfo).port;
    },
  };
}
