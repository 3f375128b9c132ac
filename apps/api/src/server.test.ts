import { request as httpRequest, Agent } from 'node:http';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { describe, expect, test } from '@jest/globals';
import { waitFor } from '@postrider/testing';
import { setupHeldServer } from '../test/held-server.ts';
import { openRaw, rawRequest } from '../test/raw-request.ts';
import { bodyFault, onceBodyBroken } from './http/body-fault.ts';
import { ApiServer } from './server.ts';

const HOST = '127.0.0.1';
const NEVER_MS = 600_000;
/** No time limit ends a connection. */
const NO_LIMITS = {
  requestTimeout: NEVER_MS,
  headersTimeout: NEVER_MS,
  connectionsCheckingInterval: NEVER_MS,
  keepAliveTimeout: NEVER_MS,
  stalledTimeout: NEVER_MS,
  unreadTimeoutMs: NEVER_MS,
  lingerTimeoutMs: NEVER_MS,
};

const listening = setupHeldServer();

describe('bytes that are no request', () => {
  test.each([
    ['no HTTP at all', 'hello\r\n\r\n', '400 Bad Request'],
    ['an unknown method', 'BREW / HTTP/1.1\r\nHost: a\r\n\r\n', '400 Bad Request'],
    [
      'two lengths',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
      '400 Bad Request',
    ],
    [
      'a length and chunks',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
      '400 Bad Request',
    ],
    [
      '20 KiB of headers',
      `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_480)}\r\n\r\n`,
      '431 Request Header Fields Too Large',
    ],
    ['a NUL in a header', 'GET / HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n', '400 Bad Request'],
  ])('%s: a bare answer with a request id, and the connection is closed', async (_, bytes, statusLine) => {
    const { port } = await listening();
    const answer = await rawRequest(port, bytes);
    expect(answer.startsWith(`HTTP/1.1 ${statusLine}\r\n`)).toBe(true);
    expect(answer).toMatch(/x-request-id: req_[0-9a-f]{32}\r\n/);
    expect(answer).toContain('Connection: close');
  });

  test('an answer in progress is sent whole, and is followed by no other answer', async () => {
    const { port, next } = await listening();
    const raw = await openRaw(port);
    raw.send('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
    const [request, response] = await next();
    response.writeHead(200, { 'content-length': 10 }).write('begun');
    await raw.until('begun');
    const broken = new Promise((resolve) => onceBodyBroken(request, resolve));
    raw.send('no chunk\r\n');
    await broken;
    const listeners = response.listenerCount('close');
    const { bytesRead } = request.socket;
    raw.send('more of it'); // Node reports each read
    await waitFor(() => request.socket.bytesRead > bytesRead, { what: 'the second read' });
    expect(response.listenerCount('close')).toBe(listeners);
    response.end('ended');
    expect(await raw.closed()).toMatch(/begunended$/);
  });

  test('a malformed body is reported to its reader, which answers; then the connection ends', async () => {
    const { port, next } = await listening();
    const raw = await openRaw(port);
    raw.send('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
    const [request, response] = await next();
    const told = new Promise((resolve) => onceBodyBroken(request, resolve));
    raw.send('no chunk\r\n');
    expect(await told).toBe('is not well-formed HTTP');
    expect(bodyFault(request)).toBe('is not well-formed HTTP');
    response.end('mine');
    expect(await raw.closed()).toMatch(/^HTTP\/1.1 200 OK\r\nconnection: close\r\n[^]*mine$/i);
  });

  test.each([
    ['not answered yet', (response: ServerResponse) => void setImmediate(() => response.end('whole'))],
    [
      'whose answer has begun',
      (response: ServerResponse) => {
        response.write('whole');
        setImmediate(() => response.end());
      },
    ],
  ])('after a whole request, %s, it does not take that answer away', async (_, answer) => {
    const { port, next } = await listening();
    const raw = await openRaw(port);
    raw.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}stray bytes\r\n');
    const [, response] = await next();
    answer(response);
    const received = await raw.closed();
    expect(received).toMatch(/^HTTP\/1.1 200 OK\r\n[^]*whole/);
    expect(received.match(/HTTP\/1/g)).toHaveLength(1);
  });

  test('CONNECT is a bare 404 with a request id', async () => {
    const { port } = await listening();
    const answer = await rawRequest(port, 'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1.1 404 Not Found\r\n[^]*x-request-id: req_/);
  });

  const BEFORE_CONNECT = 'GET / HTTP/1.1\r\nHost: a\r\n\r\nCONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n';

  test.each([
    ['not begun', (_response: ServerResponse) => undefined],
    ['begun', (response: ServerResponse) => void response.write('begun')],
  ])('a request with an answer %s gets it whole before a CONNECT ends the connection', async (_, begin) => {
    const { port, next } = await listening();
    const raw = await openRaw(port);
    raw.send(BEFORE_CONNECT);
    const [, response] = await next();
    begin(response);
    const pieces = Array.from({ length: 16 }, () => Buffer.alloc(1024 * 1024, 'x'));
    await pipeline(pieces, response); // more than the socket buffers: it waits for `drain`
    const received = await raw.closed();
    expect(received).toMatch(/^HTTP\/1.1 200 OK\r\n/);
    expect(received.match(/x/g)?.length).toBe(pieces.length * 1024 * 1024);
    expect(received.match(/HTTP\/1/g)).toHaveLength(1);
  });

  test('a request before a CONNECT hears that its client has gone', async () => {
    const { port, next } = await listening();
    const raw = await openRaw(port);
    raw.send(BEFORE_CONNECT);
    const [, response] = await next();
    const closed = once(response, 'close');
    raw.socket.resetAndDestroy();
    await closed;
  });

  test.each([
    ['in the middle of a head', 'GET / HT'],
    ['after CONNECT', 'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n'],
  ])('a client that resets its connection %s disturbs no other client', async (_, bytes) => {
    const { port } = await listening();
    for (let n = 0; n < 10; n += 1) {
      const raw = await openRaw(port);
      raw.send(bytes);
      await new Promise((resolve) => setImmediate(resolve));
      raw.socket.resetAndDestroy();
      await raw.closed();
    }
    expect(await rawRequest(port, 'x\r\n\r\n')).toMatch(/^HTTP\/1.1 400 /);
  });
});

describe('a slow client', () => {
  const HASTY = {
    requestTimeout: 40,
    headersTimeout: 20,
    connectionsCheckingInterval: 10,
    keepAliveTimeout: 20,
    stalledTimeout: 50,
    unreadTimeoutMs: NEVER_MS,
    lingerTimeoutMs: 20,
  };

  /** The server must get the head of a request in time, also on a busy machine. */
  const AFTER_HEAD = { ...HASTY, requestTimeout: 1_000, headersTimeout: 1_000, stalledTimeout: 1_000 };

  const HALF_HEAD = 'GET / HTTP/1.1\r\nHo';
  const TIMED_OUT = /^HTTP\/1.1 408 Request Timeout\r\n[^]*x-request-id: req_/;

  test('that sends half of the headers is answered 408 and cut', async () => {
    const { port } = await listening({ timeouts: HASTY });
    expect(await rawRequest(port, HALF_HEAD)).toMatch(TIMED_OUT);
  });

  describe('that has sent nothing yet', () => {
    const HASTY_HEAD = { ...NO_LIMITS, headersTimeout: 20, connectionsCheckingInterval: 10 };

    /** Returns a connection without a byte, later than the limit for a head. */
    async function idle(port: number) {
      const raw = await openRaw(port);
      expect(await rawRequest(port, HALF_HEAD)).toMatch(TIMED_OUT); // a later connection than this one
      expect(raw.received()).toBe('');
      return raw;
    }

    test('is idle: its first request is served', async () => {
      const { port, next } = await listening({ timeouts: HASTY_HEAD });
      const raw = await idle(port);
      raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      const [, response] = await next();
      response.end('served');
      await raw.until('served');
      raw.send(HALF_HEAD);
      expect(await raw.closed()).toMatch(/served[^]* 408 /);
    });

    test('has the usual time for its first head', async () => {
      const { port } = await listening({ timeouts: HASTY_HEAD });
      const raw = await idle(port);
      raw.send(HALF_HEAD);
      expect(await raw.closed()).toMatch(TIMED_OUT);
    });

    test('is cut without an answer when it stays idle', async () => {
      const { port } = await listening({ timeouts: { ...HASTY_HEAD, keepAliveTimeout: 20 } });
      expect(await rawRequest(port, '')).toBe('');
    });

    test('has the usual time without traffic once its first request has come', async () => {
      const { port, next } = await listening({ timeouts: { ...HASTY_HEAD, stalledTimeout: 200 } });
      const raw = await idle(port);
      raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      await next();
      expect(await raw.closed()).toBe('');
    });
  });

  test('that sends half of the body gets the answer of the reader', async () => {
    const { port, next } = await listening({ timeouts: { ...AFTER_HEAD, stalledTimeout: 20_000 } });
    const raw = await openRaw(port);
    raw.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n{');
    const [request, response] = await next();
    onceBodyBroken(request, (fault) => response.end(fault));
    expect(await raw.closed()).toMatch(/^HTTP\/1.1 200 OK\r\n[^]*did not arrive in time$/);
  });

  test('that drips a body after its answer is cut without another answer', async () => {
    const { port, next } = await listening({ timeouts: AFTER_HEAD });
    const raw = await openRaw(port);
    raw.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n{');
    const [, response] = await next();
    response.end('refused');
    expect(await raw.closed()).toMatch(/refused$/);
  });

  test('that never reads its answer is cut', async () => {
    const { port, next } = await listening({ timeouts: AFTER_HEAD });
    const raw = await openRaw(port);
    raw.socket.pause();
    raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    const [, response] = await next();
    const answer = Buffer.alloc(64 * 1024 * 1024); // more than the buffers of both sides take
    response.end(answer);
    await once(response, 'close');
    raw.socket.resume();
    expect((await raw.closed()).length).toBeLessThan(answer.length);
  });

  test('that never reads its answer, and sends more meanwhile, is cut', async () => {
    const { port, next } = await listening({ timeouts: { ...NO_LIMITS, unreadTimeoutMs: 60 } });
    const raw = await openRaw(port);
    raw.socket.pause();
    raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    const [, response] = await next();
    response.end(Buffer.alloc(64 * 1024 * 1024)); // more than the buffers of both sides take
    raw.send('GET / HTTP/1.1\r\nHost: a\r\n');
    const drip = setInterval(() => raw.send('X: y\r\n'), 5);
    await once(response, 'close');
    clearInterval(drip);
    raw.socket.destroy(); // a paused socket never notices that it was cut
    expect(response.writableFinished).toBe(false);
  });

  test('between two requests is cut without an answer', async () => {
    const { port, next } = await listening({ timeouts: { ...NO_LIMITS, keepAliveTimeout: 20 } });
    const raw = await openRaw(port);
    raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    const [, response] = await next();
    response.end('one');
    expect(await raw.closed()).toMatch(/one$/);
  });
});

describe('a client that sends after the end of its connection', () => {
  const MORE = Buffer.alloc(16 * 1024 * 1024, 'x'); // more than the buffers of both sides take
  const last: (response: ServerResponse) => void = (response) => {
    response.setHeader('connection', 'close');
    response.end('last');
  };

  test.each([
    ['the last answer', 'GET / HTTP/1.1\r\nHost: a\r\n\r\n', /last$/],
    ['an upgrade', 'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n', /last$/],
    ['what is not HTTP', 'GET nowhere\r\n\r\n', /Bad Request$/],
    ['a head without end', `GET / HTTP/1.1\r\nX: `, /Request Header Fields Too Large$/],
    ['a tunnel', 'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n', /Not Found$/],
    ['a stray byte', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}\0', /last$/],
  ])('%s, and only then reads, is not robbed of its answer', async (_, bytes, answer) => {
    const { port, next } = await listening();
    void next().then(([, response]) => last(response));
    const raw = await openRaw(port);
    raw.socket.pause();
    raw.send(bytes);
    await new Promise((resolve) => raw.socket.write(MORE, resolve));
    raw.socket.resume();
    expect(await raw.closed()).toMatch(answer);
  });

  test('and never ends is cut', async () => {
    const timeouts = {
      lingerTimeoutMs: 20,
      keepAliveTimeout: NEVER_MS,
      stalledTimeout: NEVER_MS,
      unreadTimeoutMs: NEVER_MS,
    };
    const times = {
      requestTimeout: NEVER_MS,
      headersTimeout: NEVER_MS,
      connectionsCheckingInterval: NEVER_MS,
    };
    const { port, next } = await listening({ timeouts: { ...times, ...timeouts } });
    const raw = await openRaw(port, { allowHalfOpen: true });
    raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    last((await next())[1]);
    const drip = setInterval(() => raw.send('x'), 5);
    expect(await raw.closed()).toMatch(/last$/);
    clearInterval(drip);
  });

  test('and sends too much is cut', async () => {
    const { port, next } = await listening();
    const raw = await openRaw(port, { allowHalfOpen: true });
    raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    last((await next())[1]);
    await raw.until('last');
    for (let sent = 0; !raw.socket.closed; sent += MORE.length) {
      expect(sent).toBeLessThan(20 * MORE.length);
      await new Promise((resolve) => raw.socket.write(MORE, resolve));
    }
  });
});

test('an idle connection outlives the ten minutes of a load balancer', async () => {
  const { port, next } = await listening();
  void next().then(([, response]) => response.end());
  const { headers } = await fetch(`http://127.0.0.1:${port}/`);
  expect(headers.get('keep-alive')).toBe('timeout=620');
});

describe('stopping', () => {
  /** Sends a request on a connection of its own. The server has read earlier bytes before its answer. */
  async function answerOne(port: number, next: () => Promise<[IncomingMessage, ServerResponse]>) {
    const raw = await openRaw(port);
    raw.send('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    const [, response] = await next();
    response.end();
    await raw.closed();
  }

  test('a request in flight finishes, its connection closes, and no new connection is accepted', async () => {
    const { server, port, next } = await listening();
    const agent = new Agent({ keepAlive: true });
    const sent = httpRequest({ host: HOST, port, agent }).end();
    const answered = once(sent, 'response') as Promise<[IncomingMessage]>;
    const [, inFlight] = await next();
    const stopped = server.stop(NEVER_MS);
    expect(server.stopping).toBe(true);
    await expect(openRaw(port).then(async (raw) => raw.closed())).resolves.toBe('');
    inFlight.end('done');
    const [response] = await answered;
    expect(response.headers.connection).toBe('close');
    expect(await text(response)).toBe('done');
    await stopped;
    agent.destroy();
  });

  test('an idle connection does not delay it', async () => {
    const { server, port, next } = await listening();
    const raw = await openRaw(port);
    raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    const [, response] = await next();
    response.end('kept');
    await raw.until('kept');
    await server.stop(NEVER_MS);
    await raw.closed();
  });

  test('nor does a connection that has sent nothing', async () => {
    const { server, port, next } = await listening({ timeouts: NO_LIMITS });
    const silent = await openRaw(port);
    await answerOne(port, next); // the server has accepted both
    await server.stop(NEVER_MS);
    expect(await silent.closed()).toBe('');
  });

  test('a new request on an open connection is the last one on it', async () => {
    const { server, port, next } = await listening();
    const [busy, late] = [await openRaw(port), await openRaw(port)];
    busy.send('GET /busy HTTP/1.1\r\nHost: a\r\n\r\n');
    const [, inFlight] = await next();
    late.send('GET /late HTTP/1.1\r\nHo');
    await answerOne(port, next); // the server has read the half request
    const stopped = server.stop(NEVER_MS);
    late.send('st: a\r\n\r\n');
    const [request, response] = await next();
    expect(request.url).toBe('/late');
    response.end('late');
    expect(await late.closed()).toMatch(/connection: close[^]*late$/i);
    inFlight.end();
    await stopped;
    await busy.closed();
  });

  test.each([
    ['the rest', ''],
    ['a request before a CONNECT', 'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n'],
  ])('the deadline cuts %s', async (_, behind) => {
    const { server, port, next } = await listening();
    const raw = await openRaw(port);
    raw.send(`GET / HTTP/1.1\r\nHost: a\r\n\r\n${behind}`);
    await next();
    await server.stop(1);
    expect(await raw.closed()).toBe('');
  });
});

test('listening on a used port fails', async () => {
  const { port } = await listening();
  const second = new ApiServer(() => undefined, { connectionsPerAddressMax: 0 });
  await expect(second.listen(port, HOST)).rejects.toMatchObject({ code: 'EADDRINUSE' });
});
