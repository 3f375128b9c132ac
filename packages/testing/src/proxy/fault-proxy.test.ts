import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { startFaultProxy } from './fault-proxy.ts';
import type { FaultProxy } from './fault-proxy.ts';
import { resetConnection } from './flow.ts';
import { listen } from '../listening-server.ts';
import { waitFor } from '../wait-for.ts';
import { createFinder } from './trap.ts';

let server: Server;
let proxy: FaultProxy;
/** What the server got, of each connection in turn. It answers every chunk with `ok:` and the chunk. */
let served: { text: string; ended: boolean }[];
let clients: { socket: Socket; text: string; closed: boolean }[];

beforeEach(async () => {
  served = [];
  clients = [];
  server = createServer((socket) => {
    const own = { text: '', ended: false };
    served.push(own);
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      own.text += String(chunk);
      socket.write(`ok:${String(chunk)}`);
    });
    socket.on('close', () => (own.ended = true));
  });
  const { port } = await listen(server);
  proxy = await startFaultProxy(() => ({ host: '127.0.0.1', port }));
});

afterEach(async () => {
  for (const { socket } of clients) socket.destroy();
  await proxy.close();
  server.close();
});

async function client(): Promise<(typeof clients)[number]> {
  const socket = connect({ port: proxy.port, host: '127.0.0.1' });
  const own = { socket, text: '', closed: false };
  clients.push(own);
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => (own.text += String(chunk)));
  socket.on('close', () => (own.closed = true));
  await once(socket, 'connect');
  return own;
}

async function becomes(what: string, condition: () => boolean): Promise<void> {
  await waitFor(condition, { what });
}

/** One round trip on a connection of its own: whatever was going to arrive before has arrived. */
async function roundTrip(): Promise<void> {
  const other = await client();
  other.socket.write('ping');
  await becomes('the other connection to be answered', () => other.text === 'ok:ping');
}

test('passes both ways, and an end as an end', async () => {
  const one = await client();
  one.socket.write('hello');
  await becomes('an answer', () => one.text === 'ok:hello');
  one.socket.end();
  await becomes('the end on both sides', () => one.closed && served[0]?.ended === true);
  await becomes('the proxy to forget it', () => proxy.open === 0);
});

test.each([
  ['that stands', () => undefined],
  ['whose end is on its way', (socket: Socket) => void socket.end()],
])('a reset closes a connection %s', async (_, before) => {
  const { socket } = await client();
  const closed = once(socket, 'close');
  before(socket);
  resetConnection(socket);
  await closed;
});

test('what is held towards the server arrives, in order, when it passes again', async () => {
  const one = await client();
  proxy.hold('toServer');
  one.socket.write('a');
  one.socket.write('b');
  one.socket.end();
  expect(served.map(({ text }) => text).join('')).toBe('');
  proxy.pass();
  await becomes('it to arrive', () => served[0]?.text === 'ab' && served[0].ended);
});

test('what is dropped never arrives, and the connection stays open', async () => {
  const one = await client();
  one.socket.write('a');
  await becomes('an answer', () => one.text === 'ok:a');
  proxy.drop('toServer');
  const passing = proxy.trap({ sees: 'b', in: 'toServer', holds: 'toClient' });
  one.socket.write('b');
  await passing.caught(); // it came as far as the proxy
  proxy.pass();
  one.socket.write('c');
  await becomes('what came later to be answered', () => one.text.endsWith('c'));
  expect(served[0]).toEqual({ text: 'ac', ended: false });
});

test('cut resets both sides', async () => {
  const one = await client();
  one.socket.write('a');
  await becomes('an answer', () => one.text === 'ok:a');
  expect(proxy.cut()).toBe(1);
  await becomes('both ends', () => one.closed && served[0]?.ended === true);
});

test('takeAway cuts and refuses until restore, and counts what it refuses', async () => {
  const one = await client();
  one.socket.write('a');
  await becomes('an answer', () => one.text === 'ok:a');
  for (const refusals of [2, 1]) {
    proxy.takeAway();
    await becomes('the cut', () => one.closed);
    for (let n = 0; n < refusals; n += 1) {
      const [error] = (await once(connect({ port: proxy.port, host: '127.0.0.1' }), 'error')) as [
        NodeJS.ErrnoException,
      ];
      expect(error.code).toBe('ECONNRESET');
    }
    expect(proxy.refused).toBe(refusals);
    proxy.restore();
    await roundTrip();
  }
});

test('a stranded connection carries nothing and stays open, while new ones work', async () => {
  const one = await client();
  one.socket.write('a');
  await becomes('an answer', () => one.text === 'ok:a');
  const passing = proxy.trap({ sees: 'b', in: 'toServer', holds: 'toClient' });
  proxy.strand();
  one.socket.write('b');
  await passing.caught();
  await roundTrip();
  proxy.pass();
  await roundTrip();
  expect([one.text, one.closed, served[0]]).toEqual(['ok:a', false, { text: 'a', ended: false }]);
  proxy.cut();
  await becomes('the end', () => one.closed);
});

test('its URL leads to the proxy, and moveTo to another server', async () => {
  expect(proxy.url('redis://user@10.0.0.1:1/2')).toBe(`redis://user@127.0.0.1:${proxy.port}/2`);
  const other = await listen(createServer((socket) => socket.end('other')));
  proxy.moveTo(other.port);
  const one = await client();
  await becomes('its answer', () => one.text === 'other');
  await other.close();
});

describe('a trap', () => {
  test('that holds the text itself keeps it from arriving', async () => {
    const trap = proxy.trap({ sees: 'COMMIT', in: 'toServer', holds: 'toServer' });
    const one = await client();
    one.socket.write('BEGIN');
    await becomes('the first answer', () => one.text === 'ok:BEGIN');
    one.socket.write('COMMIT');
    const caught = await trap.caught();
    await roundTrip();
    expect(served[0]?.text).toBe('BEGIN');
    caught.cut();
    await becomes('both ends', () => one.closed && served[0]?.ended === true);
    expect(served[0]?.text).toBe('BEGIN');
  });

  test('that holds the answer lets the text arrive, and knows when it was answered', async () => {
    const trap = proxy.trap({ sees: 'COMMIT', in: 'toServer', holds: 'toClient' });
    const one = await client();
    one.socket.write('COMMIT');
    const caught = await trap.caught();
    await caught.answered();
    expect(served[0]?.text).toBe('COMMIT');
    expect(one.text).toBe('');
    caught.release();
    await becomes('the answer', () => one.text === 'ok:COMMIT');
  });

  test('catches one connection only, and once', async () => {
    const trap = proxy.trap({ sees: 'x', in: 'toServer', holds: 'toServer' });
    const caught = await client();
    caught.socket.write('x');
    await trap.caught();
    const other = await client();
    other.socket.write('x');
    await becomes('the other to be answered', () => other.text === 'ok:x');
    expect(caught.text).toBe('');
  });

  test('lets so many occurrences pass as it was told', async () => {
    const trap = proxy.trap({ sees: 'x', in: 'toServer', holds: 'toServer', skip: 2 });
    const one = await client();
    for (const seen of ['ok:x', 'ok:xok:x']) {
      one.socket.write('x');
      await becomes('an answer', () => one.text === seen);
    }
    one.socket.write('x');
    await trap.caught();
    expect(served[0]?.text).toBe('xx');
  });
});

test('a text is found across chunks, as often as it is there', () => {
  const find = createFinder('COMMIT');
  expect(find(Buffer.from('..COM'))).toBe(0);
  expect(find(Buffer.from('MIT..COMMITCOMMI'))).toBe(2);
  expect(find(Buffer.from('T'))).toBe(1);
  expect(find(Buffer.from('T'))).toBe(0);
});
