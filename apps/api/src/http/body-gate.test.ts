import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { waitFor } from '@postrider/testing';
import { openRaw } from '../../test/raw-request.ts';
import type { RawConnection } from '../../test/raw-request.ts';
import { behindGate, createBodyGate, NoTurnError } from './body-gate.ts';
import { emailBody } from './body-rules.ts';
import { breakBody } from './broken-body.ts';
import { readJson } from './read-body.ts';
import { openRequest } from './request-context.ts';

const KIB = 1024;
const LIMITS = { bytesMax: 512 * KIB, bytesFree: 64 * KIB, parsedBytesMax: 1024 * KIB };
/** More than Node and the system take in for a reader that has stopped. */
const LONG = 8 * KIB * KIB;

let server: Server | undefined;
let open: RawConnection[] = [];

afterEach(() => {
  for (const { socket } of open) socket.destroy();
  open = [];
  server?.close();
});

/** A server behind a small gate, where the path names the owner; requests whose body is read stay in hand. */
async function listening() {
  const gate = createBodyGate({ ...LIMITS, turnsPerKey: 1, parsedPerKey: 9 });
  const incoming: IncomingMessage[] = [];
  let gone = 0;
  const inHand: { owner: string; done: () => void }[] = [];
  server = createServer((request, response) => {
    openRequest(request, response);
    incoming.push(request);
    const owner = request.url ?? '';
    behindGate(gate.enter(owner, false), request, response, async (intake) => {
      const read = await readJson(request, response, emailBody, intake);
      await new Promise<void>((done) => inHand.push({ owner, done }));
      response.end(read.ok ? 'read' : 'refused');
    }).catch((error: unknown) => {
      if (error instanceof NoTurnError) response.end('no turn');
      else gone += 1;
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    incoming,
    inHand,
    gone: () => gone,
    owners: () => inHand.map(({ owner }) => owner).join(' '),
    send: async (owner: string, body: string, declared = body.length): Promise<RawConnection> => {
      const raw = await openRaw(port);
      open.push(raw);
      raw.send(`POST ${owner} HTTP/1.1\r\nHost: a\r\nContent-Length: ${declared}\r\n\r\n${body}`);
      return raw;
    },
  };
}

function textOf(bytes: number): string {
  return JSON.stringify('x'.repeat(bytes - 2));
}

async function isRead({ socket }: RawConnection): Promise<void> {
  await waitFor(() => socket.writableLength === 0, { what: 'everything to be taken in' });
}

test('an owner whose bodies fill its share is read no further; another owner is read all the same', async () => {
  const { send, inHand, owners } = await listening();
  // The first goes on beyond the share, so that something does.
  const unfinished = await send('/a', ' '.repeat(LONG - 1), LONG);
  await isRead(unfinished);
  const held = await send('/a', ' '.repeat(320 * KIB), LONG);
  await isRead(held);
  const paused = await send('/a', textOf(LONG));
  await send('/b', textOf(100 * KIB));
  await send('/a', textOf(64 * KIB));
  await waitFor(() => owners().split(' ').length === 2, { what: 'those with room to be read' });
  expect(owners().split(' ').sort()).toEqual(['/a', '/b']);
  expect(paused.socket.writableLength).toBeGreaterThan(0);
  unfinished.socket.destroy();
  for (const { done } of inHand) done();
  await isRead(paused);
  await waitFor(() => owners().split(' ').length === 3, { what: 'the one that waited' });
});

test('one that found no room in time is told so', async () => {
  const { send, incoming } = await listening();
  await isRead(await send('/a', ' '.repeat(LONG - 1), LONG));
  const paused = await send('/a', textOf(LONG));
  await waitFor(() => incoming[1]?.isPaused() === true, { what: 'it to find no room' });
  breakBody(incoming[1] as IncomingMessage, 'did not arrive in time'); // as the server does
  await paused.until('no turn');
});

test('what parsed bodies take is bounded by their values; small ones do not wait', async () => {
  const { send, inHand, owners, ...all } = await listening();
  const wide = `[${'[],'.repeat(2_000)}${textOf(90 * KIB)}]`;
  await send('/a', wide);
  await waitFor(() => owners() === '/a', { what: 'the first to be parsed' });
  const gone = await send('/b', wide);
  await send('/c', wide);
  await isRead(gone);
  await send('/d', '[]');
  await waitFor(() => owners() === '/a /d', { what: 'the small one' });
  gone.socket.destroy();
  await waitFor(() => all.gone() === 1, { what: 'its end to be noticed' });
  inHand[0]?.done();
  await waitFor(() => owners() === '/a /d /c', { what: 'the one that waited' });
});
