import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setImmediate as nextImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { startTcpListener } from '@postrider/testing';
import { Parking } from './parking.ts';

const AFTER_MS = 1_000;

let parking: Parking;
/** The names of work that has freed its slot, in order. */
let freed: string[];

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate'] });
  parking = new Parking({ afterMs: AFTER_MS, parkedMax: 2 });
  freed = [];
});
afterEach(() => void jest.useRealTimers());

async function elapse(ms: number): Promise<void> {
  await jest.advanceTimersByTimeAsync(ms);
  await nextImmediate();
}

/** Starts work that lasts until `end` is called. */
function work(name: string): { end: () => Promise<void> } {
  let end: () => void = () => undefined;
  const running = new Promise<void>((resolve) => (end = resolve));
  void parking.untilEndedOrParked(running).then(() => freed.push(name));
  return {
    async end() {
      end();
      await elapse(0);
    },
  };
}

test('work that ends in time frees its slot at its end', async () => {
  const short = work('short');
  await elapse(AFTER_MS - 1);
  expect(freed).toEqual([]);
  await short.end();
  expect(freed).toEqual(['short']);
});

test('longer work is parked, and its slot is free', async () => {
  work('long');
  await elapse(AFTER_MS);
  expect(freed).toEqual(['long']);
});

test('work is not parked when its answer is there but the event loop was busy', async () => {
  jest.useRealTimers();
  let onConnected: (endpoint: Socket) => void = () => undefined;
  const connected = new Promise<Socket>((resolve) => (onConnected = resolve));
  const listener = await startTcpListener((endpoint) => onConnected(endpoint));
  const socket = connect(listener.port, '127.0.0.1');
  const endpoint = await connected;
  const order: string[] = [];
  const attempt = once(socket, 'data').then(() => void order.push('answered'));
  const freed = new Parking({ afterMs: 1, parkedMax: 1 })
    .untilEndedOrParked(attempt)
    .then(() => order.push('freed'));
  endpoint.write('answer'); // at once in the kernel's buffer
  for (const until = performance.now() + 20; performance.now() < until;);
  await Promise.all([attempt, freed]);
  socket.destroy();
  await listener.close();
  expect(order).toEqual(['answered', 'freed']);
});

test('at the parking limit work keeps its slot until parked work ends, oldest first', async () => {
  const [first, second] = [work('a'), work('b')];
  work('c');
  const fourth = work('d');
  work('e');
  await elapse(AFTER_MS);
  expect(freed).toEqual(['a', 'b']);
  await first.end();
  expect(freed).toEqual(['a', 'b', 'c']);
  await fourth.end(); // it waited to be parked, and has ended now
  await second.end();
  expect(freed).toEqual(['a', 'b', 'c', 'd', 'e']);
});

test('draining waits for parked work until the deadline', async () => {
  const long = work('long');
  await elapse(AFTER_MS);
  const drained: string[] = [];
  void parking.drain(60_000).then(() => drained.push('in time'));
  await elapse(0);
  expect(drained).toEqual([]);
  await long.end();
  expect(drained).toEqual(['in time']);
  work('endless');
  await elapse(AFTER_MS);
  void parking.drain(500).then(() => drained.push('cut short'));
  await elapse(500);
  expect(drained).toEqual(['in time', 'cut short']);
});
