import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import request from 'supertest';
import { expectPlainText, expectProblem } from '../../test/expect-problem.ts';
import { BASES } from '../../test/start-api.ts';
import type { KeylessRequest, KeylessRoute } from '../routes/route.ts';
import { json } from './answer.ts';
import { resourceBody } from './body-rules.ts';
import { openRequest } from './request-context.ts';
import { createSend } from './send.ts';
import { serveRoute } from './serve-route.ts';
import type { Gates } from './serve-route.ts';

let server: Server | undefined;

afterEach(() => {
  server?.close();
});

function asked(): never {
  throw new Error('a keyless route was asked for a key or charged');
}
const CLOSED_GATES: Gates = {
  apiKeys: { findActive: asked },
  charge: asked,
  metrics: { limiterFailures: { inc: asked } as unknown as Gates['metrics']['limiterFailures'] },
};

/** A server with this one route, and what its handler was given. */
async function serving(body: KeylessRoute['body']): Promise<{ url: string; handed: KeylessRequest[] }> {
  const handed: KeylessRequest[] = [];
  const handle: KeylessRoute['handle'] = async (given) => {
    handed.push(given);
    return json(200, {});
  };
  const serve = serveRoute(
    { method: 'post', path: '/u/:id', scope: null, body, handle },
    CLOSED_GATES,
    createSend(BASES),
  );
  server = createServer((incoming, response) => {
    openRequest(incoming, response);
    const matched: IncomingMessage & { params: Record<string, string> } = Object.assign(incoming, {
      params: { id: incoming.url ?? '' },
    });
    void serve(matched, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, handed };
}

test('a keyless route is asked for no key, charged to nobody, and given the bytes as they came', async () => {
  const { url, handed } = await serving(resourceBody);
  const bytes = Buffer.from([0x7b, 0x00, 0xff, 0xfe]);
  const response = await request(url)
    .post('/token')
    .set('content-type', 'text/plain; charset=UTF-8')
    .set('authorization', 'Bearer nonsense')
    .serialize((body: Buffer) => body as unknown as string)
    .send(bytes);
  expect(response.status).toBe(200);
  expect(response.headers['x-request-id']).toMatch(/^req_/);
  expect(handed).toMatchObject([{ id: '/token', body: bytes }]);
});

test('its body has a limit, and what cannot be read is refused, as the rule of the route says', async () => {
  const { url, handed } = await serving(resourceBody);
  const long = await request(url)
    .post('/')
    .type('form')
    .send('x'.repeat(resourceBody.bytesMax + 1));
  expectProblem(long, 'request-too-large');
  const encoded = await request(url).post('/').set('content-encoding', 'gzip').type('form').send('a=b');
  expectPlainText(encoded, 400);
  expect(handed).toEqual([]);
});

test('one that ignores its body is given none', async () => {
  const { url, handed } = await serving('ignored');
  await request(url).post('/').type('form').send('a=b');
  expect(handed).toMatchObject([{ body: Buffer.alloc(0) }]);
});
