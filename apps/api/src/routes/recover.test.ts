import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { newId } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import type { ApiKey, RecoveryCount, RecoveryRequest, RecoveryStore } from '@postrider/store';
import { countTakesLong, noSlotInTime, noSuch } from '../problems/answers.ts';
import { recoveryRoutes } from './recoveries.ts';
import type { KeyedRoute } from './route.ts';

/* A dry run whose count the test ends. */

interface Count {
  readonly request: RecoveryRequest;
  readonly end: () => void;
}
let counts: Count[];
let nowMs: number;
let route: KeyedRoute;

beforeEach(() => {
  [counts, nowMs] = [[], 0];
  const store: Pick<RecoveryStore, 'count' | 'start'> = {
    // Its count ended by time, after three events.
    async start() {
      nowMs = 10_000;
      return { kind: 'changed', count: { matched: 3, hasMore: true } as RecoveryCount };
    },
    count: async (_account, _webhook, request) =>
      new Promise((resolve) => void counts.push({ request, end: () => resolve(null) })),
  };
  route = recoveryRoutes(store as RecoveryStore, () => nowMs)[0] as KeyedRoute;
});

afterEach(() => void jest.useRealTimers());

/** A request of a new account. */
function send(body: object = { dry_run: true }) {
  const client = new ServerResponse(new IncomingMessage(new Socket()));
  const answer = route.handle({
    key: { kind: 'live', scopes: [], accountId: newId('account', systemClock) } as unknown as ApiKey,
    id: newId('webhook', systemClock),
    params: {},
    origin: 'https://api.test',
    query: new URLSearchParams(),
    headers: {},
    body: { since: '2026-01-01T00:00:00Z', ...body },
    requestId: 'req_1',
    recheckKey: async () => null,
    client,
  });
  return { client, answer };
}

test('a count ends after ten seconds', async () => {
  send();
  await setImmediate();
  nowMs = 9_999;
  expect(counts[0]?.request.mayGoOn?.()).toBe(true);
  nowMs = 10_000;
  expect(counts[0]?.request.mayGoOn?.()).toBe(false);
});

test('a count ends when its client disconnects', async () => {
  const { client } = send();
  await setImmediate();
  client.destroy();
  expect(counts[0]?.request.mayGoOn?.()).toBe(false);
});

test('an expected number is not refused when the count ended by time', async () => {
  expect(await send({ expected: 5 }).answer).toEqual(countTakesLong);
});

test('a request whose client disconnects no longer waits for the counts of others', async () => {
  const others = [send(), send()];
  const waiting = send();
  const next = send();
  await setImmediate();
  waiting.client.emit('close');
  expect(await waiting.answer).toEqual(noSlotInTime);
  expect(counts).toHaveLength(2);
  counts[0]?.end();
  await others[0]?.answer;
  await setImmediate();
  expect(counts).toHaveLength(3);
  counts[2]?.end();
  expect(await next.answer).toEqual(noSuch('webhook'));
});

test('a request waits ten seconds for the counts of other accounts', async () => {
  jest.useFakeTimers();
  send();
  send();
  let answer: unknown = 'it waits';
  const waiting = send().answer.then((given) => (answer = given));
  await jest.advanceTimersByTimeAsync(9_999);
  expect(answer).toBe('it waits');
  await jest.advanceTimersByTimeAsync(1);
  expect(answer).toEqual(noSlotInTime);
  await waiting;
});
