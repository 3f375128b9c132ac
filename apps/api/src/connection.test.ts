import { expect, test } from '@jest/globals';
import { createMetrics } from '@postrider/runtime';
import { openRaw } from '../test/raw-request.ts';
import { BASES } from '../test/start-api.ts';
import { clientNetwork } from './connection.ts';
import { json } from './http/answer.ts';
import { openRequest } from './http/request-context.ts';
import { createSend } from './http/send.ts';
import { ApiServer } from './server.ts';

test.each([
  ['IPv4', '203.0.113.7', '203.0.113.7'],
  ['IPv6', '2001:db8:1:2::1', '2001:db8:1:2::/64'],
  ['IPv6 with a zone', 'fe80::1%eth0', 'fe80:0:0:0::/64'],
])('%s counts by its network', (_, remoteAddress, network) => {
  expect(clientNetwork({ remoteAddress })).toBe(network);
});

test.each([
  ['loopback', '127.0.0.1'],
  ['another loopback address', '127.8.9.10'],
  ['IPv6 loopback', '::1'],
  ['loopback mapped to IPv6', '::ffff:127.0.0.1'],
  ['a closed connection', undefined],
])('%s does not count', (_, remoteAddress) => {
  expect(clientNetwork({ remoteAddress })).toBeNull();
});

const MIB = 1024 * 1024;
/** More than the buffers of both sides hold. */
const LONG = 'x'.repeat(48 * MIB);
const NEVER_MS = 600_000;
const TIMEOUTS = {
  requestTimeout: NEVER_MS,
  headersTimeout: NEVER_MS,
  connectionsCheckingInterval: NEVER_MS,
  keepAliveTimeout: NEVER_MS,
  stalledTimeout: NEVER_MS,
  unreadTimeoutMs: 1_000,
  lingerTimeoutMs: NEVER_MS,
};

test('a client that reads a long answer a piece now and then gets all of it', async () => {
  const send = createSend(BASES, { warn: () => undefined }, createMetrics('api', { processMetrics: false }));
  const server = new ApiServer(
    (request, response) => {
      openRequest(request, response);
      request.resume().once('end', () => send(request, response, json(200, { answer: LONG })));
    },
    { connectionsPerAddressMax: 0, timeouts: TIMEOUTS },
  );
  const { socket, ...raw } = await openRaw(await server.listen(0, '127.0.0.1'));
  let read = 0;
  socket.on('data', ({ length }: Buffer) => {
    read += length;
    if (read < MIB) return;
    read = 0;
    socket.pause();
  });
  const reading = setInterval(() => socket.resume(), 60); // takes 3 s
  raw.send('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  expect((await raw.closed()).length).toBeGreaterThan(LONG.length);
  clearInterval(reading);
  await server.stop(0);
});
