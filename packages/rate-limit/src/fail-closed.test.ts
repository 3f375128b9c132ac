import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { expect, jest, test } from '@jest/globals';
import { blockEventLoop } from '../test/block-event-loop.ts';
import { failClosed, LimiterTimeoutError, unlessAborted } from './fail-closed.ts';
import type { LimiterOptions } from './fail-closed.ts';

const LIMIT_MS = 250;

function noting(): LimiterOptions & { readonly faults: Error[] } {
  const faults: Error[] = [];
  return { timeoutMs: LIMIT_MS, faults, onUnavailable: (error) => void faults.push(error) };
}

test('a store that stays silent is given up at the deadline, though it never heeds the signal', async () => {
  jest.useFakeTimers();
  try {
    const options = noting();
    let overdue: AbortSignal | undefined;
    const silent = new Promise<boolean>(() => undefined);
    let decision: unknown;
    void failClosed((signal) => {
      overdue = signal;
      return silent;
    }, options).then((made) => (decision = made));
    await jest.advanceTimersByTimeAsync(LIMIT_MS - 1);
    expect({ decision, aborted: overdue?.aborted }).toEqual({ decision: undefined, aborted: false });
    await jest.advanceTimersByTimeAsync(1);
    await jest.advanceTimersByTimeAsync(1); // the sockets are read before it is given up
    expect(decision).toEqual({ allowed: false, why: 'limiter-unavailable' });
    expect(overdue?.aborted).toBe(true);
    expect(options.faults).toEqual([
      new LimiterTimeoutError("the limiter's store did not answer within 250 ms"),
    ]);
  } finally {
    jest.useRealTimers();
  }
});

test.each([
  [true, { allowed: true }],
  [false, { allowed: false, why: 'limit' }],
])('a store that answers %p in time decides, and no timer is left behind', async (allowed, decision) => {
  jest.useFakeTimers();
  try {
    const options = noting();
    expect(await failClosed(async () => allowed, options)).toEqual(decision);
    expect(options.faults).toEqual([]);
    expect(jest.getTimerCount()).toBe(0);
  } finally {
    jest.useRealTimers();
  }
});

test('a store that fails refuses the charge, and what it failed with is told', async () => {
  const options = noting();
  const gone = new Error('gone');
  const refused = { allowed: false, why: 'limiter-unavailable' };
  expect(await failClosed(() => Promise.reject(gone), options)).toEqual(refused);
  // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- a driver may throw anything
  expect(await failClosed(() => Promise.reject('a word'), options)).toEqual(refused);
  expect(options.faults).toEqual([gone, new Error('a word')]);
});

test('an answer that came while this process was busy beyond the deadline still decides', async () => {
  const store = createServer().listen(0, '127.0.0.1');
  await once(store, 'listening');
  const accepted = once(store, 'connection') as Promise<[Socket]>;
  const limiter = connect((store.address() as AddressInfo).port, '127.0.0.1');
  const [[answering]] = await Promise.all([accepted, once(limiter, 'connect')]);
  try {
    const options = noting();
    const decision = failClosed(async () => (await once(limiter, 'data')).toString() === 'yes', options);
    answering.write('yes'); // handed to the kernel at once: it lies in the other socket, unread
    blockEventLoop(LIMIT_MS + 50);
    expect(await decision).toEqual({ allowed: true });
    expect(options.faults).toEqual([]);
  } finally {
    limiter.destroy();
    answering.destroy();
    store.close();
  }
});

test('a signal that aborted before ends the waiting at once', async () => {
  const reason = new Error('too late');
  const silent = new Promise<never>(() => undefined);
  await expect(unlessAborted(silent, AbortSignal.abort(reason))).rejects.toBe(reason);
});
