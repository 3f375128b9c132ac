import { once } from 'node:events';
import { Agent, request } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from '@jest/globals';
import { waitFor } from '@postrider/testing';
import { ConsoleServer } from './server.ts';

const HOST = '127.0.0.1';
const NEVER_MS = 600_000;
const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

let agent: Agent | undefined;
afterEach(() => agent?.destroy());

/** Asks for a page on a connection that stays open. The test answers it. */
async function begin(port: number): Promise<IncomingMessage> {
  agent = new Agent({ keepAlive: true });
  const [answer] = (await once(request({ host: HOST, port, agent }).end(), 'response')) as [IncomingMessage];
  return answer;
}

test.each([
  ['not begun', (_response: ServerResponse) => undefined, 'close'],
  ['begun', (response: ServerResponse) => response.flushHeaders(), 'keep-alive'],
])(
  'a stop waits for a page that has %s, and not for its connection',
  async (_, beforeStop, connection) => {
    const asked = Promise.withResolvers<ServerResponse>();
    const server = new ConsoleServer((_, response) => asked.resolve(response));
    const answer = begin(await server.listen(0, HOST));
    const response = await asked.promise;
    beforeStop(response);
    const stopped = server.stop(NEVER_MS);
    response.end('the page');
    expect((await answer).headers.connection).toBe(connection);
    expect(await text(await answer)).toBe('the page');
    await stopped;
  },
  40_000,
); // Node would keep the connection for 620 s

test('the answer to a request that comes during the stop is the last one of its connection', async () => {
  const asked: ServerResponse[] = [];
  const server = new ConsoleServer((_, response) => void asked.push(response));
  const port = await server.listen(0, HOST);
  const late = connect(port, HOST);
  late.write('GET /late HTTP/1.1\r\nHo');
  await once(late, 'connect');
  const first = connect(port, HOST);
  first.write(GET);
  await waitFor(() => asked.length === 1, { what: 'the first request' }); // the server has read both
  const stopped = server.stop(NEVER_MS);
  late.write('st: a\r\n\r\n');
  await waitFor(() => asked.length === 2, { what: 'the late request' });
  for (const response of asked) response.end();
  for (const socket of [first, late]) expect(await text(socket)).toMatch(/\r\nConnection: close\r\n/i);
  await stopped;
});

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

  test('a stop does not wait for such a connection, also when line breaks follow', async () => {
    const port = await listening();
    const silent = connect(port, HOST);
    await once(silent, 'connect');
    const closed = new Promise((resolve) => silent.on('error', () => undefined).once('close', resolve));
    const halfHead = () => {
      const half = connect(port, HOST);
      half.write('GET / HT');
      return text(half);
    };
    expect(await halfHead()).toContain(' 408 ');
    silent.write('\r\n');
    expect(await halfHead()).toContain(' 408 '); // the server has read the line break before
    await server.stop(NEVER_MS);
    await closed;
  });

  test('such a connection is closed without an answer when it stays idle', async () => {
    const port = await listening({ ...HASTY_HEAD, keepAliveTimeout: 20 });
    expect(await text(connect(port, HOST))).toBe('');
  });
});

describe('bytes that are no request', () => {
  let server: ConsoleServer;
  afterEach(() => server.stop(0));

  test.each([
    ['no HTTP', 'hello\r\n\r\n', '400 Bad Request'],
    ['an unknown method', 'BREW / HTTP/1.1\r\nHost: a\r\n\r\n', '400 Bad Request'],
  ])('%s: a bare answer, and the connection is closed', async (_, bytes, statusLine) => {
    server = new ConsoleServer((_, response) => void response.end('the page'));
    const socket = connect(await server.listen(0, HOST), HOST);
    socket.write(bytes);
    expect(await text(socket)).toBe(`HTTP/1.1 ${statusLine}\r\nConnection: close\r\n\r\n`);
  });

  test('headers over 64 KiB: a bare 431', async () => {
    const asked = Promise.withResolvers<IncomingMessage>();
    server = new ConsoleServer((request, response) => {
      asked.resolve(request);
      response.end();
    });
    const socket = connect(await server.listen(0, HOST), HOST);
    socket.write(GET);
    const { socket: accepted } = await asked.promise;
    const head = `GET / HTTP/1.1\r\nX: ${'x'.repeat(64_000)}`;
    socket.write(head);
    const bytes = GET.length + head.length;
    await waitFor(() => accepted.bytesRead === bytes, { what: 'the server to read most of it' });
    socket.write('x'.repeat(2_000));
    expect(await text(socket)).toMatch(
      /HTTP\/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\n\r\n$/,
    );
  });

  test('after a page that has begun: no second answer', async () => {
    const asked = Promise.withResolvers<ServerResponse>();
    server = new ConsoleServer((_, response) => asked.resolve(response));
    const socket = connect(await server.listen(0, HOST), HOST);
    socket.write(GET);
    (await asked.promise).write('begun');
    socket.write('hello\r\n\r\n');
    const answer = await text(socket);
    expect(answer).toMatch(/^HTTP\/1.1 200 OK\r\n[^]*begun/);
    expect(answer).not.toContain('400');
  });
});
