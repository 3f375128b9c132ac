import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { waitFor } from '@postrider/testing';
import request from 'supertest';
import { expectPlainText, expectProblem } from '../../test/expect-problem.ts';
import type { Answered } from '../../test/expect-problem.ts';
import { openRaw, rawRequest } from '../../test/raw-request.ts';
import { setupApi } from '../../test/start-api.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

const api = setupApi();
let authorization: string;

beforeAll(async () => {
  ({ authorization } = await api.newCaller());
});

/** `json` padded with white space, which JSON ignores. */
function padded(json: object, bytes: number): Buffer {
  const written = JSON.stringify(json);
  return Buffer.concat([Buffer.from(written), Buffer.alloc(bytes - written.length, ' ')]);
}

const WEBHOOK = { endpoint: 'https://hooks.example.com' };
const MESSAGE = { from: 'a@a.example', to: 'b@b.example', subject: 'Hi', text: 'Hi' };

function post(path: string, body: Buffer) {
  return request(api.url)
    .post(path)
    .set('authorization', authorization)
    .set('content-type', 'application/json')
    .serialize((bytes: Buffer) => bytes as unknown as string)
    .send(body);
}

/** supertest always declares a length. */
async function postChunked(path: string, body: Buffer): Promise<Answered> {
  const sent = httpRequest(`${api.url}${path}`, { method: 'POST', headers: { authorization }, agent: false });
  const answer = once(sent, 'response') as Promise<[IncomingMessage]>;
  sent.write(body.subarray(0, 10));
  sent.end(body.subarray(10));
  const [response] = await answer;
  return { status: response.statusCode ?? 0, headers: response.headers, text: await text(response) };
}

function head(path: string, more: readonly string[]): string {
  return [
    `POST ${path} HTTP/1.1`,
    'Host: api.test',
    `Authorization: ${authorization}`,
    'Content-Type: application/json',
    ...more,
    '',
    '',
  ].join('\r\n');
}

describe.each([
  ['with its length declared', post],
  ['chunked', postChunked],
] as const)('a body %s', (_, postBody) => {
  test('of 65536 bytes is accepted; one of 65537 gets a problem document', async () => {
    expect((await postBody('/v1/webhooks', padded(WEBHOOK, 64 * KIB))).status).toBe(201);
    const refused = await postBody('/v1/webhooks', padded(WEBHOOK, 64 * KIB + 1));
    expect(expectProblem(refused, 'request-too-large')).toContain('65536 bytes');
  });

  test('of 8 MiB is accepted by a send; one byte more is refused in plain text', async () => {
    expect((await postBody('/v1/emails', padded(MESSAGE, 8 * MIB))).status).toBe(200);
    expectPlainText(await postBody('/v1/emails', padded(MESSAGE, 8 * MIB + 1)), 413);
  });
});

test('a send of 32 MiB is refused in plain text; one byte more gets a problem document', async () => {
  expectPlainText(await post('/v1/emails', Buffer.alloc(32 * MIB, ' ')), 413);
  expectProblem(await post('/v1/emails', Buffer.alloc(32 * MIB + 1, ' ')), 'request-too-large');
});

test('a chunked send of any length is refused in plain text', async () => {
  expectPlainText(await postChunked('/v1/emails', Buffer.alloc(33 * MIB, ' ')), 413);
});

describe('a body that is refused unread', () => {
  test.each([
    ['over its limit', 'POST /v1/webhooks', 413],
    ['without a key', 'POST /v1/emails', 401],
    ['for a path that does not exist', 'POST /v1/nothing', 404],
  ])('%s: the answer comes before the first byte of it', async (_, line, status) => {
    const raw = await openRaw(api.port);
    const key = status === 413 ? `Authorization: ${authorization}\r\n` : '';
    raw.send(`${line} HTTP/1.1\r\nHost: api.test\r\n${key}Content-Length: ${32 * MIB}\r\n\r\n`);
    const answer = await raw.until('"instance"');
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer.toLowerCase()).toContain('connection: close');
    raw.socket.end();
    await raw.closed();
  });

  test.each([
    ['that is no HTTP', 'no chunk\r\n'],
    ['of which nothing comes', ''],
  ])('one %s, sent with the head: the answer is whole', async (_, body) => {
    const raw = await openRaw(api.port);
    raw.socket.end(`POST /v1/nothing HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${body}`);
    expect(await raw.closed()).toMatch(/^HTTP\/1.1 404 [^]*"instance":"req_\w+",.*\}$/);
  });

  test('a client that sends everything before it reads still gets the answer', async () => {
    const raw = await openRaw(api.port);
    raw.socket.pause();
    const body = Buffer.alloc(20 * MIB, ' ');
    raw.send(`POST /v1/emails HTTP/1.1\r\nHost: api.test\r\nContent-Length: ${body.length}\r\n\r\n`);
    await new Promise((resolve) => raw.socket.write(body, resolve));
    raw.socket.resume();
    expect(await raw.closed()).toMatch(/^HTTP\/1.1 401 [^]*"instance"/);
  });

  test.each(['1.0', '1.1'])(
    'a small one that comes after the answer, on a connection of HTTP/%s that ends with it, does not break the connection',
    async (version) => {
      const raw = await openRaw(api.port);
      let broken = false;
      raw.socket.once('error', () => (broken = true));
      raw.send(
        `GET /v1/webhooks HTTP/${version}\r\nHost: a\r\nConnection: close\r\nContent-Length: 60000\r\n\r\n`,
      );
      await raw.until('"instance"');
      for (let sent = 0; sent < 60_000; sent += 20_000)
        await new Promise((resolve) => raw.socket.write(Buffer.alloc(20_000, ' '), resolve));
      expect(await raw.closed()).toMatch(/^HTTP\/1.1 401 [^]*"instance"/);
      expect(broken).toBe(false);
    },
  );

  test('an endless body is cut off', async () => {
    const raw = await openRaw(api.port);
    raw.send('POST /v1/nothing HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\n\r\n');
    const chunk = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(MIB), Buffer.from('\r\n')]);
    let sent = 0;
    while (!raw.socket.destroyed && sent < 400) {
      await new Promise((resolve) => raw.socket.write(chunk, resolve));
      sent += 1;
    }
    expect(await raw.closed()).toMatch(/^HTTP\/1.1 404 [^]*"instance"/);
    expect(sent).toBeLessThan(400);
  });
});

describe('a client that sends Expect: 100-continue', () => {
  test('gets 100 Continue when the route reads the body', async () => {
    const raw = await openRaw(api.port);
    const body = JSON.stringify(WEBHOOK);
    raw.send(
      head('/v1/webhooks', [`Content-Length: ${body.length}`, 'Expect: 100-continue', 'Connection: close']),
    );
    await raw.until('HTTP/1.1 100 Continue');
    raw.send(body);
    expect(await raw.closed()).toContain('HTTP/1.1 201 Created');
  });

  test('is refused before it sends the body', async () => {
    const answer = await rawRequest(
      api.port,
      head('/v1/webhooks', [`Content-Length: ${MIB}`, 'Expect: 100-continue']),
    );
    expect(answer).toMatch(/^HTTP\/1.1 413 /);
  });

  test('an unknown expectation is ignored', async () => {
    const body = JSON.stringify(WEBHOOK);
    const raw = head('/v1/webhooks', [
      `Content-Length: ${body.length}`,
      'Expect: miracles',
      'Connection: close',
    ]);
    expect(await rawRequest(api.port, raw + body)).toMatch(/^HTTP\/1.1 201 /);
  });
});

test('an expectation in HTTP/1.0 is ignored', async () => {
  const body = JSON.stringify(WEBHOOK);
  const lines = head('/v1/webhooks', [`Content-Length: ${body.length}`, 'Expect: 100-continue']);
  const answer = await rawRequest(api.port, lines.replace('HTTP/1.1', 'HTTP/1.0') + body);
  expect(answer).toMatch(/^HTTP\/1.1 201 /);
});

test('a request to upgrade the connection is ignored', async () => {
  const lines = head('/v1/webhooks', ['Content-Length: 2', 'Upgrade: websocket', 'Connection: upgrade']);
  const raw = await openRaw(api.port);
  raw.send(`${lines}{}`);
  expect(await raw.until('endpoint')).toMatch(/^HTTP\/1.1 422 /);
  raw.socket.destroy();
});

describe('a hostile document', () => {
  const deep = '['.repeat(30_000) + ']'.repeat(30_000);
  test.each([
    `{"endpoint":${deep}}`,
    `{"endpoint":"https://a.example","events":${deep}}`,
    `{"endpoint":"https://a.example","events":[${'"x",'.repeat(15_000)}1]}`,
    `{${'"endpoint":1,'.repeat(4_000)}"endpoint":1e999}`,
    `{"endpoint":{"toString":1,"length":-1,"__proto__":null}}`,
    `{"endpoint":"https://[::ffff:7f00:1"}`,
    `{"endpoint":"https://\\u0000\\ud800"}`,
  ])('is refused as 422 (%#)', async (body) => {
    const detail = expectProblem(await post('/v1/webhooks', Buffer.from(body)), 'validation-failed');
    expect(detail?.length).toBeLessThan(300);
  });

  test.each([
    '['.repeat(1 * MIB),
    '['.repeat(1 * MIB) + ']'.repeat(1 * MIB),
    `{"to":${deep},"from":${deep},"headers":${deep},"html":${deep},"attachments":${deep}}`,
    `{"to":[${'"x",'.repeat(500_000)}1]}`,
    `{"headers":{${Array.from({ length: 50_000 }, (_, n) => `"\\u0000${n}":1`).join()}}}`,
    `{"headers":{"${'x'.repeat(MIB)}":"a"}}`,
    `{"from":"${'a@'.repeat(400)}","to":"${'<'.repeat(900)}","subject":${'9'.repeat(MIB)}}`,
  ])('is refused as 422 by a send (%#)', async (body) => {
    const detail = expectProblem(await post('/v1/emails', Buffer.from(body)), 'validation-failed');
    expect(detail?.length).toBeLessThan(300);
  });
});

describe('an encoded body', () => {
  test.each(['gzip', 'br', 'deflate', 'x-nothing', 'gzip, gzip'])('%s is refused', async (encoding) => {
    const body = gzipSync(JSON.stringify(WEBHOOK));
    expectPlainText(await post('/v1/webhooks', body).set('content-encoding', encoding), 400);
    expectProblem(await post('/v1/emails', body).set('content-encoding', encoding), 'validation-failed');
  });

  test.each(['identity', 'IDENTITY, ', ', identity,identity'])('"%s" is none', async (encoding) => {
    const response = await post('/v1/webhooks', padded(WEBHOOK, 100)).set('content-encoding', encoding);
    expect(response.status).toBe(201);
  });
});

test('a byte order mark is skipped', async () => {
  const response = await post('/v1/webhooks', Buffer.from(`\ufeff${JSON.stringify(WEBHOOK)}`));
  expect(response.status).toBe(201);
});

test('a client that resets its connection in the middle of its body leaves one line in the log and stores nothing', async () => {
  const lines = (): string[] =>
    api
      .log()
      .split('\n')
      .filter((line) => line.includes('"status":null'));
  const before = lines().length;
  const raw = await openRaw(api.port);
  raw.send(head('/v1/webhooks', ['Content-Length: 1000', 'Expect: 100-continue']));
  await raw.until('100 Continue'); // now the body is being read
  raw.socket.resetAndDestroy();
  await waitFor(() => lines().length > before, { what: 'the line of the request' });
  expect(JSON.parse(lines().at(-1) ?? '')).toMatchObject({ route: '/v1/webhooks', level: 'info' });
  expect(api.log()).not.toContain('"level":"error"');
});

test('a connection serves the next request after one whose small body was ignored', async () => {
  const raw = await openRaw(api.port);
  raw.send('GET /v1/webhooks HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n{"abc');
  await raw.until('401');
  raw.send('GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  expect(await raw.closed()).toContain('HTTP/1.1 200 OK');
});

describe('a body that breaks off', () => {
  const begun = (path: string, headers: readonly string[], body: string) =>
    openRaw(api.port).then((raw) => {
      raw.send(`${head(path, headers)}${body}`);
      return raw;
    });

  test('when the client cuts it off, a send gets a problem document and a webhook gets plain text', async () => {
    const send = await begun('/v1/emails', ['Content-Length: 1000'], '{"from":');
    send.socket.end();
    const answer = await send.closed();
    expect(answer).toMatch(/^HTTP\/1.1 422 /);
    expect(answer).toContain('application/problem+json');
    const id = /x-request-id: (req_\w+)/.exec(answer)?.[1] ?? 'none';
    expect(answer).toContain(`"instance":"${id}"`);
    expect(api.log()).toContain(id);
    const webhook = await begun('/v1/webhooks', ['Content-Length: 1000'], '{"endpoint":');
    webhook.socket.end();
    expect(await webhook.closed()).toMatch(/^HTTP\/1.1 400 [^]*is not well-formed HTTP\.$/);
  });

  test('with malformed chunks, a send gets one problem document', async () => {
    const raw = await begun('/v1/emails', ['Transfer-Encoding: chunked'], 'no chunk\r\n');
    raw.send('nor this\r\n');
    const answer = await raw.closed();
    expect(answer).toMatch(/^HTTP\/1.1 422 [^]*"field":"","message":"is not well-formed HTTP"/);
    expect(answer.match(/HTTP\/1/g)).toHaveLength(1);
  });

  test('with an unsupported transfer coding is refused with that reason', async () => {
    const raw = await begun('/v1/emails', ['Transfer-Encoding: gzip, chunked'], '2\r\n{}\r\n0\r\n\r\n');
    raw.socket.end();
    expect(await raw.closed()).toMatch(/^HTTP\/1.1 422 [^]*Transfer-Encoding/);
  });
});

test('a send followed by garbage is stored and answered as stored', async () => {
  const body = JSON.stringify({ from: 'a@a.example', to: 'b@b.example', subject: 'stray', text: 'x' });
  const raw = await openRaw(api.port);
  raw.send(`${head('/v1/emails', [`Content-Length: ${body.length}`])}${body}stray bytes\r\n\r\n`);
  expect(await raw.closed()).toMatch(/^HTTP\/1.1 200 OK[^]*"id":"em_\w+"\}$/);
  expect(await api.database.query("select id from emails where subject = 'stray'")).toHaveLength(1);
});

test('a client that closes its side after the request still gets the answer', async () => {
  const raw = await openRaw(api.port);
  const body = JSON.stringify(WEBHOOK);
  raw.socket.end(`${head('/v1/webhooks', [`Content-Length: ${body.length}`])}${body}`);
  expect(await raw.closed()).toMatch(/^HTTP\/1.1 201 /);
});
