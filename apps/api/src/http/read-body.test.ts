import { once } from 'node:events';
import { createServer, IncomingMessage } from 'node:http';
import type { Server } from 'node:http';
import { Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, jest, test } from '@jest/globals';
import { LIMITS as DOMAIN_LIMITS } from '@postrider/domain';
import { waitFor } from '@postrider/testing';
import { setupRawConnections } from '../../test/raw-request.ts';
import type { RawConnection } from '../../test/raw-request.ts';
import { breakBody } from './body-fault.ts';
import { emailBody } from './body-rules.ts';
import { Body, BodyLimits } from './read-body.ts';
import { openRequest } from './request-context.ts';
import { readOff } from './unread-body.ts';

const KIB = 1024;
const LIMITS = {
  bytesMax: 512 * KIB,
  bytesUncounted: 64 * KIB,
  parsedBytesMax: 1024 * KIB,
  parseWaitMs: 60_000,
  batchesWaitingMax: 9,
};
/** More than Node and the system buffer for a reader that has stopped. */
const LONG = 8 * KIB * KIB;

const { connect } = setupRawConnections();
let server: Server | undefined;

afterEach(() => void server?.close());

/** A server with small limits, where the path names the owner. Requests whose body is read stay in flight. */
async function listening(parseWaitMs = LIMITS.parseWaitMs) {
  const limits = new BodyLimits({ ...LIMITS, batchesPerKey: 1, parseWaitMs });
  const incoming: IncomingMessage[] = [];
  let gone = 0;
  const inFlight: { owner: string; done: () => void }[] = [];
  server = createServer((request, response) => {
    openRequest(request, response);
    incoming.push(request);
    const owner = request.url ?? '';
    const body = new Body({ request, response, rule: emailBody, limits, owner, isBatch: false });
    const serve = async (): Promise<void> => {
      const read = await body.json();
      if (read.ok) await new Promise<void>((done) => inFlight.push({ owner, done }));
      else if (read.why === 'client gone') gone += 1;
      response.end(read.ok ? 'read' : read.why);
    };
    void serve().finally(() => body.release());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    incoming,
    inFlight,
    gone: () => gone,
    owners: () => inFlight.map(({ owner }) => owner).join(' '),
    send: async (owner: string, body: string, declared = body.length): Promise<RawConnection> => {
      const raw = await connect(port);
      raw.send(`POST ${owner} HTTP/1.1\r\nHost: a\r\nContent-Length: ${declared}\r\n\r\n${body}`);
      return raw;
    },
  };
}

function textOf(bytes: number): string {
  return JSON.stringify('x'.repeat(bytes - 2));
}

async function isRead({ socket }: RawConnection): Promise<void> {
  await waitFor(() => socket.writableLength === 0, { what: 'the socket to drain' });
}

test('the API pauses the bodies of an owner at its budget, and reads the bodies of other owners', async () => {
  const { send, inFlight, owners } = await listening();
  // The first body may exceed the budget.
  const unfinished = await send('/a', ' '.repeat(LONG - 1), LONG);
  await isRead(unfinished);
  const held = await send('/a', ' '.repeat(320 * KIB), LONG);
  await isRead(held);
  const paused = await send('/a', textOf(LONG));
  await send('/b', textOf(100 * KIB));
  await send('/a', textOf(64 * KIB));
  await waitFor(() => owners().split(' ').length === 2, { what: 'the bodies within the budget' });
  expect(owners().split(' ').sort()).toEqual(['/a', '/b']);
  expect(paused.socket.writableLength).toBeGreaterThan(0);
  unfinished.socket.destroy();
  for (const { done } of inFlight) done();
  await isRead(paused);
  await waitFor(() => owners().split(' ').length === 3, { what: 'the waiting body' });
});

test('a body that got no memory in time is refused', async () => {
  const { send, incoming } = await listening();
  await isRead(await send('/a', ' '.repeat(LONG - 1), LONG));
  const paused = await send('/a', textOf(LONG));
  await waitFor(() => incoming[1]?.isPaused() === true, { what: 'the second body to pause' });
  breakBody(incoming[1] as IncomingMessage, 'did not arrive in time'); // as the server does
  await paused.until('no capacity');
});

test('the number of values limits parsed bodies, but for one; small bodies do not wait', async () => {
  const { send, inFlight, owners, ...all } = await listening();
  const wide = `[${'[],'.repeat(1_000)}${textOf(90 * KIB)}]`;
  await send('/a', wide);
  await waitFor(() => owners() === '/a', { what: 'the first body' });
  await send('/b', wide);
  await waitFor(() => owners() === '/a /b', { what: 'the body that may exceed the budget' });
  const gone = await send('/c', wide);
  await send('/d', wide);
  await isRead(gone);
  await send('/e', '[]');
  await waitFor(() => owners() === '/a /b /e', { what: 'the small body' });
  gone.socket.destroy();
  await waitFor(() => all.gone() === 1, { what: 'the disconnect to be noticed' });
  inFlight[0]?.done();
  await waitFor(() => owners() === '/a /b /e /d', { what: 'the waiting body' });
});

test('a body that gets no memory to be parsed in time is refused', async () => {
  const { send, owners } = await listening(1);
  const wide = `[${'[],'.repeat(1_000)}${textOf(90 * KIB)}]`;
  await send('/a', wide);
  await waitFor(() => owners() === '/a', { what: 'the first body' });
  await send('/b', wide);
  await waitFor(() => owners() === '/a /b', { what: 'the body that may exceed the budget' });
  await (await send('/c', wide)).until('no capacity');
});

test('the largest parsed bodies of one key leave room for the body of another', () => {
  const { parsed } = new BodyLimits();
  const { batchBodyBytes, messageBytes } = DOMAIN_LIMITS;
  const largest = batchBodyBytes + 250_000 * 256 + (messageBytes / 4) * 3 * 24; // text, values, numbers
  for (let n = 0; n < 4; n += 1) void parsed.open('a').take(largest);
  expect(parsed.open('b').take(65 * KIB * KIB)).toBeNull();
  expect(parsed.open('b').take(65 * KIB * KIB)).not.toBeNull();
});

test('reading off a body ends when it breaks off', async () => {
  jest.useFakeTimers(); // the time limit never passes
  try {
    const request = new IncomingMessage(new Socket());
    const over = readOff(request);
    breakBody(request, 'is not well-formed HTTP');
    await over;
  } finally {
    jest.useRealTimers();
  }
});
