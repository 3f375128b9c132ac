import { setTimeout } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { everythingStored } from '../../test/everything-stored.ts';
import { EVERY_ROUTE, KEYED_ROUTES, pathOf, titled } from '../../test/every-route.ts';
import type { KnownRoute } from '../../test/every-route.ts';
import { expectProblem } from '../../test/expect-problem.ts';
import { openRaw } from '../../test/raw-request.ts';
import { setupApi } from '../../test/start-api.ts';

const MIB = 1024 * 1024;
const BODY_BYTES = 32 * MIB;

const api = setupApi();
let revoked: string;

beforeAll(async () => {
  const caller = await api.newCaller();
  await api.revoke(caller.keyId);
  revoked = caller.authorization;
});

/** The answer to a head that announces a body. The client sends no more of the body than `sent`. */
async function answerToHead(
  route: KnownRoute,
  key: string | null,
  framing: string,
  sent = '',
): Promise<string> {
  const raw = await openRaw(api.port);
  const lines = [
    `${route.method.toUpperCase()} ${pathOf(route)} HTTP/1.1`,
    'Host: api.test',
    framing,
    ...(key === null ? [] : [`Authorization: ${key}`]),
  ];
  raw.send(`${lines.join('\r\n')}\r\n\r\n${sent}`);
  const answer = await raw.until('\r\n\r\n');
  raw.socket.destroy();
  return answer;
}

const LENGTH = `Content-Length: ${BODY_BYTES}`;
const CHUNKED = 'Transfer-Encoding: chunked';

describe.each(titled(KEYED_ROUTES))('%s refuses before the first byte of the body', (_, route) => {
  test.each([
    ['without a key', LENGTH, () => null],
    ['without a key, in chunks', CHUNKED, () => null],
    ['with a revoked key', LENGTH, () => revoked],
  ])('a body of 32 MiB %s', async (_, framing, key) => {
    const answer = await answerToHead(route, key(), framing);
    expect(answer).toMatch(/^HTTP\/1.1 401 [^]*\r\nconnection: close\r\n/i);
  });

  test('a body of 32 MiB from a key without the scope, or whose limit is used up', async () => {
    const { authorization } = await api.newCaller({ scopes: [], rateLimitPerMinute: 1 });
    expect(await answerToHead(route, authorization, LENGTH)).toMatch(/^HTTP\/1.1 403 /);
    const next = route.limited ? 429 : 403;
    expect(await answerToHead(route, authorization, LENGTH)).toMatch(new RegExp(`^HTTP/1.1 ${next} `));
  });
});

describe.each(titled(EVERY_ROUTE.filter(({ contract }) => contract.body !== undefined)))('%s', (_, route) => {
  test('a declared length over the limit is refused before the first byte of the body', async () => {
    const key = route.scope === null ? null : (await api.newCaller({ scopes: [route.scope] })).authorization;
    const { bytesMax = 0, tooLarge = '' } = route.contract.body ?? {};
    const answer = await answerToHead(route, key, `Content-Length: ${bytesMax + 1}`);
    expect(answer).toMatch(/^HTTP\/1.1 413 [^]*\r\nconnection: close\r\n/i);
    const mediaType = tooLarge.endsWith('text') ? 'text/plain; charset=utf-8' : 'application/problem+json';
    expect(answer).toContain(`content-type: ${mediaType}\r\n`);
  });
});

describe.each(titled(EVERY_ROUTE.filter(({ contract }) => contract.body === undefined)))('%s', (_, route) => {
  test('ignores its body, and refuses one over 64 KiB without doing anything; only GET reads no chunks', async () => {
    const key = route.scope === null ? null : (await api.newCaller({ scopes: [route.scope] })).authorization;
    // The domain routes answer 503: this deployment has no domains.
    const answer = await answerToHead(route, key, `Content-Length: ${64 * 1024 + 1}`);
    expect(answer).toMatch(/^HTTP\/1.1 413 [^]*\r\nconnection: close\r\n/i);
    expect(answer).toContain('content-type: application/problem+json\r\n');
    const served = /^HTTP\/1.1 (?:200|404|503) /;
    expect(await answerToHead(route, key, `Content-Length: ${64 * 1024}`)).toMatch(served);
    if (route.method === 'get') {
      expect(await answerToHead(route, key, CHUNKED)).toMatch(served);
      return;
    }
    const chunkOf = (bytes: number) => `${bytes.toString(16)}\r\n${'x'.repeat(bytes)}\r\n`;
    expect(await answerToHead(route, key, CHUNKED, `${chunkOf(64 * 1024)}0\r\n\r\n`)).toMatch(served);
    const chunked = await answerToHead(route, key, CHUNKED, chunkOf(64 * 1024 + 1));
    expect(chunked).toMatch(/^HTTP\/1.1 413 [^]*\r\nconnection: close\r\n/i);
  });
});

async function newWebhook(): Promise<{ id: string; authorization: string }> {
  const { authorization } = await api.newCaller();
  const created = await request(api.url)
    .post('/v1/webhooks')
    .set('authorization', authorization)
    .send({ endpoint: 'https://hooks.example.com' });
  return { ...(created.body as { id: string }), authorization };
}

test.each(['declared', 'in chunks'])('a DELETE with such a body, %s, deletes no webhook', async (form) => {
  const { id, authorization } = await newWebhook();
  const before = await everythingStored(api.database);
  const body = new Blob(['x'.repeat(MIB)]);
  const response = await fetch(`${api.url}/v1/webhooks/${id}`, {
    method: 'DELETE',
    headers: { authorization },
    ...(form === 'declared' ? { body } : { body: body.stream(), duplex: 'half' }),
  });
  expect({ status: response.status, body: await response.json() }).toMatchObject({
    status: 413,
    body: { name: 'request_too_large' },
  });
  expect(await everythingStored(api.database)).toEqual(before);
});

test.each(['breaks off', 'is no HTTP'])('a DELETE whose body %s deletes no webhook', async (how) => {
  const { id, authorization } = await newWebhook();
  const before = await everythingStored(api.database);
  const raw = await openRaw(api.port);
  const head = [
    `DELETE /v1/webhooks/${id} HTTP/1.1`,
    'Host: api.test',
    `Authorization: ${authorization}`,
    CHUNKED,
    'Expect: 100-continue',
  ];
  raw.send(`${head.join('\r\n')}\r\n\r\n`);
  await raw.until('100 Continue'); // the API waits for the body
  raw.send(how === 'breaks off' ? '5\r\nab' : 'no chunk\r\n');
  if (how === 'breaks off') raw.socket.destroy();
  await setTimeout(300); // for a deletion that must not come
  expect(await everythingStored(api.database)).toEqual(before);
});

const SENDS = KEYED_ROUTES.filter(({ scope }) => scope === 'emails:send');

test.each(titled(SENDS))(
  '%s: an ordinary client that sends 32 MiB without a key reads why not',
  async (_, route) => {
    const before = await everythingStored(api.database);
    const response = await request(api.url)
      .post(route.path)
      .set('content-type', 'application/json')
      .send('x'.repeat(BODY_BYTES));
    expectProblem(response, 'api-key-unauthorized');
    expect(await everythingStored(api.database)).toEqual(before);
  },
);
