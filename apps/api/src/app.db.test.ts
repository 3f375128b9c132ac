import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { IncomingMessage, ServerResponse } from 'node:http';
import { expect, test } from '@jest/globals';
import request from 'supertest';
import { setupApi } from '../test/start-api.ts';

interface Served {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

const api = setupApi();

test.each(['/healthz', '/v1/webhooks', '/no/such/route'])(
  'GET %s is served with the prototypes that Node gives request and response',
  async (path) => {
    const served: Served[] = [];
    const keep = (message: unknown): void => void served.push(message as Served);
    subscribe('http.server.response.finish', keep);
    try {
      await request(api.url).get(path);
    } finally {
      unsubscribe('http.server.response.finish', keep);
    }
    const prototypes = served.map((one) =>
      [one.request, one.response].map((it) => Object.getPrototypeOf(it) as object),
    );
    expect(prototypes).toHaveLength(1);
    expect(prototypes[0]?.[0]).toBe(IncomingMessage.prototype);
    expect(prototypes[0]?.[1]).toBe(ServerResponse.prototype);
  },
);
