import { once } from 'node:events';
import { Agent, request } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from '@jest/globals';
import { ConsoleServer } from './server.ts';

const HOST = '127.0.0.1';
const NEVER_MS = 600_000;

let agent: Agent | undefined;
afterEach(() => agent?.destroy());

/** Asks for a page on a connection that stays open. The test answers it. */
async function begin(port: number): Promise<IncomingMessage> {
  agent = new Agent({ keepAlive: true });
  const [answer] = (await once(request({ host: HOST, port, agent }).end(), 'response')) as [IncomingMessage];
  return answer;
}

test('a stop waits for the page in flight, and not for its connection', async () => {
  const asked = Promise.withResolvers<ServerResponse>();
  const server = new ConsoleServer((_, response) => asked.resolve(response));
  const answer = begin(await server.listen(0, HOST));
  const response = await asked.promise;
  const stopped = server.stop(NEVER_MS);
  response.end('the page');
  expect(await text(await answer)).toBe('the page');
  await stopped;
}, 40_000); // Node would keep the connection for 620 s

test('a stop does not wait for a connection that has sent nothing', async () => {
  const server = new ConsoleServer((_, response) => void response.end('the page'));
  const port = await server.listen(0, HOST);
  const silent = connect(port, HOST);
  await once(silent, 'connect');
  const closed = once(silent, 'close');
  expect(await text(await begin(port))).toBe('the page'); // the server has accepted both
  await server.stop(NEVER_MS);
  await closed;
});

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

describe('with little time for a head', () => {
  const HASTY_HEAD = {
    requestTimeout: NEVER_MS,
    headersTimeout: 20,
    connectionsCheckingInterval: 10,
    keepAliveTimeout: NEVER_MS,
  };
  let server: ConsoleServer;
  afterEach(() => server.stop(0));

  async function listening(timeouts = HASTY_HEAD): Promise<number> {
    server = new ConsoleServer((_, response) => void response.end('the page'), timeouts);
    return server.listen(0, HOST);
  }

  test('a connection that has sent nothing is idle: its first request is served', async () => {
    const port = await listening();
    const silent = connect(port, HOST);
    await once(silent, 'connect');
    const half = connect(port, HOST).setEncoding('utf8');
    half.write('GET / HT');
    expect(await text(half)).toMatch(/^HTTP\/1.1 408 Request Timeout\r\n/); // a later connection than the silent one
    silent.write(GET.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
    expect(await text(silent)).toMatch(/^HTTP\/1.1 200 OK\r\n[^]*the page/);
  });

  test('such a connection is closed without an answer when it stays idle', async () => {
    const port = await listening({ ...HASTY_HEAD, keepAliveTimeout: 20 });
    expect(await text(connect(port, HOST))).toBe('');
  });
});

describe('bytes that are no request', () => {
  test.each([
    ['no HTTP', 'hello\r\n\r\n', '400 Bad Request'],
    ['an unknown method', 'BREW / HTTP/1.1\r\nHost: a\r\n\r\n', '400 Bad Request'],
  ])('%s: a bare answer, and the connection is closed', async (_, bytes, statusLine) => {
    const server = new ConsoleServer((_, response) => void response.end('the page'));
    const socket = connect(await server.listen(0, HOST), HOST);
    socket.write(bytes);
    expect(await text(socket)).toBe(`HTTP/1.1 ${statusLine}\r\nConnection: close\r\n\r\n`);
    await server.stop(NEVER_MS);
  });

  test('after a page that has begun: no second answer', async () => {
    const asked = Promise.withResolvers<ServerResponse>();
    const server = new ConsoleServer((_, response) => asked.resolve(response));
    const socket = connect(await server.listen(0, HOST), HOST);
    socket.write(GET);
    (await asked.promise).write('begun');
    socket.write('hello\r\n\r\n');
    const answer = await text(socket);
    expect(answer).toMatch(/^HTTP\/1.1 200 OK\r\n[^]*begun/);
    expect(answer).not.toContain('400');
    await server.stop(NEVER_MS);
  });
});
