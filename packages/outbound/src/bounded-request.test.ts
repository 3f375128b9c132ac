import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { beforeAll, describe, expect, test } from '@jest/globals';
import {
  answer,
  cleanUpAfterEach,
  createTestAuthority,
  dripBody,
  dripHead,
  endlessBody,
  endlessHead,
  garbage,
  hang,
  listen,
  malformedBody,
  type Reaction,
  redirectTo,
  resetAfterHead,
  resetBeforeHead,
  type ScriptedReceiver,
  startScriptedReceiver,
  startTcpListener,
  switchProtocols,
  type TestAuthority,
  truncatedBody,
  waitFor,
} from '@postrider/testing';
import { createBoundedGet, createBoundedPost } from './bounded-request.ts';

const bodyBytesMax = 4096;

let authority: TestAuthority;
const atEnd = cleanUpAfterEach();

beforeAll(async () => {
  authority = await createTestAuthority();
});

async function startReceiver(reaction: Reaction = answer(200)): Promise<ScriptedReceiver> {
  const receiver = await startScriptedReceiver({ authority });
  atEnd(() => receiver.close());
  receiver.always('/file', reaction);
  return receiver;
}

function createGet(options: { timeoutMs?: number; ca?: string[] } = {}) {
  return createBoundedGet({ timeoutMs: 20_000, bodyBytesMax, ca: [authority.caPem], ...options });
}

describe('an answer is a value', () => {
  test.each([200, 204, 404, 500])('of status %i, with its body', async (status) => {
    const text = status === 204 ? '' : 'content';
    const receiver = await startReceiver(answer(status, { body: text }));
    const fetched = await createGet()(new URL(receiver.url('/file')));
    expect(fetched).toEqual({ kind: 'answered', statusCode: status, body: Buffer.from(text) });
    expect(receiver.requests).toMatchObject([{ method: 'GET', path: '/file' }]);
  });

  test('as large as the limit', async () => {
    const receiver = await startReceiver(answer(200, { body: Buffer.alloc(bodyBytesMax, 'x') }));
    const fetched = await createGet()(new URL(receiver.url('/file')));
    expect(fetched).toEqual({ kind: 'answered', statusCode: 200, body: Buffer.alloc(bodyBytesMax, 'x') });
  });

  test('that redirects, and nobody goes there', async () => {
    const elsewhere = await startReceiver();
    const receiver = await startReceiver(redirectTo(elsewhere.url('/file')));
    const fetched = await createGet()(new URL(receiver.url('/file')));
    expect(fetched).toMatchObject({ kind: 'answered', statusCode: 302 });
    expect(elsewhere.connections).toBe(0);
  });
});

describe('a body that is too large is cut off', () => {
  test.each<[string, Reaction]>([
    ['by one byte', answer(200, { body: Buffer.alloc(bodyBytesMax + 1) })],
    ['without end', endlessBody()],
  ])('%s', async (_, reaction) => {
    const receiver = await startReceiver(reaction);
    const fetched = await createGet()(new URL(receiver.url('/file')));
    expect(fetched).toMatchObject({ kind: 'failed', error: 'response larger than 4096 bytes' });
    await waitFor(() => receiver.openSockets === 0, { what: 'the connection to be cut' });
  });
});

describe('the time limit ends', () => {
  test.each<[string, Reaction]>([
    ['silence', hang()],
    ['a head that drips', dripHead()],
    ['a body that drips', dripBody()],
    ['another protocol', switchProtocols()],
  ])('%s', async (_, reaction) => {
    const receiver = await startReceiver(reaction);
    const fetched = await createGet({ timeoutMs: 500 })(new URL(receiver.url('/file')));
    expect(fetched).toEqual({ kind: 'failed', cause: 'timeout', error: 'timeout after 500 ms' });
    await waitFor(() => receiver.openSockets === 0, { what: 'the connection to be cut' });
  });
});

describe('a failure, made once, is', () => {
  test.each<[string, Reaction]>([
    ['a reset before the head', resetBeforeHead()],
    ['a reset behind the head', resetAfterHead()],
    ['a body that breaks off', truncatedBody()],
    ['a malformed body', malformedBody()],
    ['garbage', garbage()],
    ['a head without end', endlessHead()],
  ])('%s', async (_, reaction) => {
    const receiver = await startReceiver(reaction);
    const fetched = await createGet()(new URL(receiver.url('/file')));
    expect(fetched).toMatchObject({ kind: 'failed', cause: 'protocol' });
    expect(receiver.requests).toHaveLength(1);
  });

  test('a server that another authority vouches for, and nothing is asked of it', async () => {
    const receiver = await startReceiver();
    const { caPem } = await createTestAuthority();
    const fetched = await createGet({ ca: [caPem] })(new URL(receiver.url('/file')));
    expect(fetched).toMatchObject({ kind: 'failed', cause: 'tls' });
    expect(receiver.requests).toHaveLength(0);
  });

  test('a connection that is cut in the TLS handshake', async () => {
    const listener = await startTcpListener((socket) => socket.once('data', () => socket.destroy()));
    atEnd(() => listener.close());
    expect(await createGet()(new URL(`https://127.0.0.1:${listener.port}/file`))).toEqual({
      kind: 'failed',
      cause: 'tls',
      error: 'TLS: connection closed during the handshake',
    });
  });

  test('a port that nobody listens on', async () => {
    const receiver = await startScriptedReceiver({ authority });
    const url = receiver.url('/file');
    await receiver.close();
    expect(await createGet()(new URL(url))).toMatchObject({
      kind: 'failed',
      cause: 'connect',
      error: `connect ECONNREFUSED 127.0.0.1:${receiver.port}`,
    });
  });
});

test('another scheme than https is a fault of our own', async () => {
  await expect(createGet()(new URL('http://127.0.0.1/'))).rejects.toThrow('only https is fetched');
});

describe('a post', () => {
  const body = Buffer.from('{}');
  const post = async (receiver: ScriptedReceiver, timeoutMs = 20_000) => {
    const bounded = createBoundedPost({ timeoutMs, ca: [authority.caPem] });
    return bounded(new URL(receiver.url('/file')), body, { 'x-id': '1' });
  };

  test.each<[string, Reaction, number]>([
    ['of any status', answer(500), 500],
    ['that redirects', redirectTo('https://127.0.0.1:1/'), 302],
    ['whose body has no end', endlessBody(), 200],
  ])('reads the head of an answer %s, and no more', async (_, reaction, statusCode) => {
    const receiver = await startReceiver(reaction);
    expect(await post(receiver)).toEqual({ kind: 'answered', statusCode });
    expect(receiver.requests).toMatchObject([{ method: 'POST', body, headers: { 'x-id': '1' } }]);
    await waitFor(() => receiver.openSockets === 0, { what: 'the connection to be cut' });
  });

  test('goes to an http URL, too, on a connection of its own', async () => {
    const received: object[] = [];
    const server = createServer((request, response) => {
      void buffer(request).then((bytes) => {
        received.push({ connection: request.headers.connection, bytes });
        response.writeHead(202).end();
      });
    });
    const { port, close } = await listen(server);
    atEnd(close);
    const bounded = createBoundedPost({ timeoutMs: 20_000 });
    const answered = await bounded(new URL(`http://127.0.0.1:${port}/file`), body, {});
    expect(answered).toEqual({ kind: 'answered', statusCode: 202 });
    expect(received).toEqual([{ connection: 'close', bytes: body }]);
  });

  test.each<[string, Reaction]>([
    ['silence', hang()],
    ['a head that drips', dripHead()],
    ['another protocol', switchProtocols()],
  ])('ends %s when its time is up', async (_, reaction) => {
    const receiver = await startReceiver(reaction);
    expect(await post(receiver, 500)).toMatchObject({ kind: 'failed', error: 'timeout after 500 ms' });
    await waitFor(() => receiver.openSockets === 0, { what: 'the connection to be cut' });
  });
});
