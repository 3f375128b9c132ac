import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { request as httpRequest, Agent } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from '@jest/globals';
import { cleanUpAfterEach, waitFor } from '@postrider/testing';
import { setupHeldServer } from '../test/held-server.ts';
import { openRaw } from '../test/raw-request.ts';
import { onceBodyBroken } from './http/body-fault.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** One in flight, and 32 that wait. */
const AT_ONCE_MAX = 33;

const atEnd = cleanUpAfterEach();
const listening = setupHeldServer();

test('a connection between two requests holds no part of the last request in memory', async () => {
  const { port, next } = await listening();
  const agent = new Agent({ keepAlive: true });
  const serveOne = async (): Promise<WeakRef<IncomingMessage>> => {
    const asked = httpRequest({ host: '127.0.0.1', port, agent, method: 'POST' });
    asked.end('body');
    const [request, response] = await next();
    await text(request);
    response.end();
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    await text(answer);
    return new WeakRef(request);
  };
  const served = [await serveOne(), await serveOne(), await serveOne()];
  await waitFor(
    () => {
      collectGarbage();
      return served.every((request) => request.deref() === undefined);
    },
    { what: 'every request to be let go' },
  );
  agent.destroy();
});

test('no more than 4 KiB and one read of a body are parsed while nobody reads it', async () => {
  const { port, next } = await listening();
  const raw = await openRaw(port);
  raw.send('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
  const [request] = await next();
  const chunk = '1\r\nx\r\n';
  raw.send(chunk.repeat(90_000));
  await waitFor(() => request.socket.isPaused(), { what: 'the connection to be paused' });
  expect(request.readableLength).toBeLessThan(4_096 + 65_536 / chunk.length);
  raw.socket.destroy();
});

describe('many requests at once on one connection', () => {
  const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: a\r\n${more}\r\n`;

  test('are served one at a time, in order', async () => {
    const { port, next, waiting } = await listening();
    const raw = await openRaw(port);
    raw.send(Array.from({ length: AT_ONCE_MAX }, (_, n) => get(`/${n}`)).join(''));
    for (let n = 0; n < AT_ONCE_MAX; n += 1) {
      const [request, response] = await next();
      expect(request.url).toBe(`/${n}`);
      expect(waiting).toHaveLength(0);
      response.end(`answer ${n}.`);
    }
    await raw.until(`answer ${AT_ONCE_MAX - 1}.`);
    raw.socket.destroy();
  });

  test.each([
    ['in one write', (all: readonly string[]) => [all.join('')]],
    ['one by one', (all: readonly string[]) => all],
  ])('are answered up to the one in flight when they are too many, %s', async (_, writesOf) => {
    let parsed = 0;
    const count = (): void => void (parsed += 1);
    subscribe('http.server.request.start', count);
    atEnd(() => unsubscribe('http.server.request.start', count));
    const { port, next, waiting } = await listening();
    const raw = await openRaw(port);
    const all = Array.from({ length: 2_000 }, (_unused, n) => get(`/${n}`));
    for (const bytes of writesOf(all)) raw.send(bytes);
    const [request, response] = await next();
    const isRead = (bytes: string) => request.socket.bytesRead === bytes.length;
    await waitFor(() => isRead(all.join('')), { what: 'all requests to be read' });
    // A head that asks to upgrade would make Node destroy the connection.
    const late = get('/late', 'Connection: Upgrade\r\nUpgrade: h2c\r\n');
    raw.send(late);
    await waitFor(() => isRead(all.join('') + late), { what: 'the late request to be read' });
    response.end('the only answer');
    expect(await raw.closed()).toMatch(/connection: close\r\n[^]*the only answer$/i);
    expect([parsed, waiting.length]).toEqual([AT_ONCE_MAX + 1, 0]);
  });

  test('requests after one that ends the connection are never served', async () => {
    const { port, next, waiting } = await listening();
    const raw = await openRaw(port);
    raw.send(get('/one') + get('/two'));
    const [, response] = await next();
    response.setHeader('connection', 'close');
    response.end('last');
    expect(await raw.closed()).toMatch(/last$/);
    expect(waiting).toHaveLength(0);
  });
});

test('after a request that asks to upgrade the connection is closed: Node would lose what came behind it', async () => {
  const { port, next, waiting } = await listening();
  const raw = await openRaw(port);
  const upgrade = 'Connection: keep-alive, Upgrade\r\nUpgrade: h2c\r\n';
  raw.send(`GET /one HTTP/1.1\r\nHost: a\r\n${upgrade}\r\nGET /two HTTP/1.1\r\nHost: a\r\n\r\n`);
  const [, response] = await next();
  response.end('served');
  expect(await raw.closed()).toMatch(/connection: close[^]*served$/i);
  expect(waiting).toHaveLength(0);
});

test.each([
  ['a request', ''],
  ['a request that asks to upgrade, where Node hides the fault', 'Connection: Upgrade\r\nUpgrade: h2c\r\n'],
])('a client that closes its side within the body of %s is told so', async (_, headers) => {
  const { port, next } = await listening();
  const raw = await openRaw(port);
  raw.send(`POST / HTTP/1.1\r\nHost: a\r\n${headers}Content-Length: 9\r\n\r\nhalf`);
  const [request, response] = await next();
  onceBodyBroken(request, (fault) => response.end(fault));
  raw.socket.end();
  expect(await raw.closed()).toMatch(/is not well-formed HTTP$/);
});

test.each([
  ['no Host', 'GET / HTTP/1.1\r\n\r\n'],
  ['an expectation that nobody knows', 'GET / HTTP/1.1\r\nHost: a\r\nExpect: miracles\r\n\r\n'],
  ['15 KiB of headers', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(15 * 1024)}\r\n\r\n`],
  ['more than 2,000 headers', `GET / HTTP/1.1\r\n${'A:\r\n'.repeat(2500)}Last: 1\r\n\r\n`],
])('a request with %s is left to the app, whole', async (_, bytes) => {
  const { port, next } = await listening();
  const raw = await openRaw(port);
  raw.send(bytes);
  const [request, response] = await next();
  if (bytes.includes('Last')) expect(request.headers['last']).toBe('1');
  response.end('served');
  expect(await raw.until('served')).toMatch(/^HTTP\/1.1 200 OK\r\n/);
  raw.socket.destroy();
});
