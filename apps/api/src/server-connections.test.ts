import type { RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { waitFor } from '@postrider/testing';
import { setupRawConnections } from '../test/raw-request.ts';
import type { RawConnection } from '../test/raw-request.ts';
import { ApiServer } from './server.ts';
import type { ApiServerOptions } from './server.ts';

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const HANG = 'GET /hang HTTP/1.1\r\nHost: a\r\n\r\n';
/** As in `server.ts`. */
const CONNECTIONS_MAX = 2_048;

const { open: clients, connect } = setupRawConnections();
let server: ApiServer;
let hanging: ServerResponse[];
/** The server's side of the connections. */
let accepted: Socket[];

beforeEach(() => {
  hanging = [];
  accepted = [];
});

afterEach(() => server.stop(0));

/** Answers each request at once, except `/hang`. */
const app: RequestListener = (request, response) => {
  if (request.url === '/hang') hanging.push(response);
  else response.end('served');
};

/** @returns a function that opens a connection from a simulated address. Null: from loopback. */
async function listening(options: Partial<ApiServerOptions> = {}) {
  const addresses: (string | null)[] = [];
  const addressOf = (socket: Socket): string | null => {
    accepted.push(socket);
    return addresses.shift() ?? null;
  };
  server = new ApiServer(app, { connectionsPerAddressMax: 0, addressOf, ...options });
  const port = await server.listen(0, '127.0.0.1');
  return async (from: string | null = null): Promise<RawConnection> => {
    addresses.push(from);
    return connect(port);
  };
}

async function isServed(client: RawConnection, request = GET): Promise<boolean> {
  const before = client.received().length;
  client.send(request);
  await waitFor(() => client.socket.destroyed || client.received().slice(before).includes('served'), {
    what: 'an answer or the end',
  });
  return client.received().slice(before).includes('served');
}

async function isServing(count: number): Promise<void> {
  await waitFor(() => hanging.length === count, { what: `${count} requests to be served` });
}

test('when silent clients use all connections, an honest client still gets its answer', async () => {
  const open = await listening({ connectionsPerAddressMax: 256 });
  const silent = await open();
  expect(await isServed(silent)).toBe(true);
  for (let count = 1; count < CONNECTIONS_MAX; count += 1) await open();
  for (let count = 0; count < 3; count += 1) expect(await isServed(await open())).toBe(true);
  expect(await silent.closed()).toMatch(/served$/);
  expect(clients.filter(({ socket }) => socket.closed)).toHaveLength(3);
});

describe('at the total limit', () => {
  test('the longest idle connection is closed', async () => {
    const open = await listening({ connectionsMax: 3 });
    const [first, second, third] = [await open(), await open(), await open()];
    for (const client of [second, third, first]) expect(await isServed(client)).toBe(true);
    expect(await isServed(await open())).toBe(true);
    await second.closed();
    expect(await isServed(first)).toBe(true);
    expect(await isServed(third)).toBe(true);
  });

  test('a connection without a byte is idle from its start', async () => {
    const open = await listening({ connectionsMax: 2 });
    const [silent, busy] = [await open(), await open()];
    expect(await isServed(busy)).toBe(true);
    expect(await isServed(await open())).toBe(true);
    await silent.closed();
    expect(await isServed(busy)).toBe(true);
  });

  test('a connection that was silent at first stays idle when only line breaks follow', async () => {
    const never = 600_000;
    const open = await listening({
      connectionsMax: 2,
      timeouts: {
        requestTimeout: never,
        headersTimeout: 20,
        connectionsCheckingInterval: 10,
        keepAliveTimeout: never,
        stalledTimeout: never,
        unreadTimeoutMs: never,
        lingerTimeoutMs: never,
      },
    });
    const silent = await open();
    const half = await open();
    half.send('GET / HT');
    expect(await half.closed()).toContain(' 408 '); // a later connection than the silent one
    silent.send('\r\n');
    await waitFor(() => accepted[0]?.bytesRead === 2, { what: 'the line break to be read' });
    (await open()).send(HANG);
    await isServing(1);
    expect(await isServed(await open())).toBe(true);
    await silent.closed();
  });

  test.each([
    ['whose request is being served', HANG, 1],
    ['that has begun with a request', 'GET / HT', 0],
    ['in the middle of a body', 'POST /hang HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n{', 1],
    ['that has begun with its second request', `${GET}G`, 0],
    ['whose second request is being served', GET + HANG, 1],
  ])('one %s is never closed: a new one is, unserved', async (_, bytes, serving) => {
    const open = await listening({ connectionsMax: 1 });
    const taken = await open();
    const second = bytes.startsWith(GET) ? bytes.slice(GET.length) : '';
    taken.send(second === '' ? bytes : GET);
    if (second !== '') await taken.until('served');
    taken.send(second);
    await waitFor(() => accepted[0]?.bytesRead === bytes.length, { what: 'the bytes to be read' });
    await isServing(serving);
    const refused = await open();
    expect(await isServed(refused)).toBe(false);
    expect(refused.received()).toBe('');
    expect(taken.socket.closed).toBe(false);
  });

  test('a connection with a second request in flight is never closed', async () => {
    const open = await listening({ connectionsMax: 1 });
    const taken = await open();
    taken.send(GET + HANG);
    await isServing(1);
    expect(await isServed(await open())).toBe(false);
    expect(taken.socket.closed).toBe(false);
  });

  test('a new connection is served once another has closed', async () => {
    const open = await listening({ connectionsMax: 1 });
    const first = await open();
    first.send(HANG);
    await isServing(1);
    expect(await isServed(await open())).toBe(false);
    hanging[0]?.end('served');
    await first.until('served');
    expect(await isServed(await open())).toBe(true);
    await first.closed();
  });
});

describe('at the limit of one address', () => {
  test('the address’s longest idle connection is closed, and no other address loses one', async () => {
    const open = await listening({ connectionsPerAddressMax: 2 });
    const other = await open('192.0.2.1');
    const [first, second] = [await open('192.0.2.2'), await open('192.0.2.2')];
    expect(await isServed(await open('192.0.2.2'))).toBe(true);
    await first.closed();
    for (const client of [second, other]) expect(await isServed(client)).toBe(true);
  });

  test('without an idle connection, a new one is closed, while another address is served', async () => {
    const open = await listening({ connectionsPerAddressMax: 1 });
    const busy = await open('192.0.2.2');
    busy.send(HANG);
    await isServing(1);
    expect(await isServed(await open('192.0.2.2'))).toBe(false);
    expect(await isServed(await open('192.0.2.1'))).toBe(true);
  });

  test('one more is served once another has closed', async () => {
    const open = await listening({ connectionsPerAddressMax: 1 });
    const busy = await open('192.0.2.2');
    busy.send(HANG);
    await isServing(1);
    hanging[0]?.setHeader('connection', 'close').end();
    await waitFor(() => accepted[0]?.closed === true, { what: 'the server to see it' });
    expect(await isServed(await open('192.0.2.2'))).toBe(true);
  });

  test.each([
    ['from loopback', { connectionsPerAddressMax: 1 }, null],
    ['where the limit is 0', { connectionsPerAddressMax: 0 }, '192.0.2.2'],
  ])('there is no such limit %s', async (_, options, from) => {
    const open = await listening(options);
    for (let count = 1; count <= 3; count += 1) {
      (await open(from)).send(HANG);
      await isServing(count);
    }
    expect(await isServed(await open(from))).toBe(true);
  });
});
