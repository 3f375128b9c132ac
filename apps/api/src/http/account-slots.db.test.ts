import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { IncomingMessage, ServerResponse, request as httpRequest } from 'node:http';
import type { ClientRequest } from 'node:http';
import { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { beforeEach, expect, test } from '@jest/globals';
import { SCOPES } from '@postrider/domain';
import { waitFor, withClient } from '@postrider/testing';
import request from 'supertest';
import { expectProblem } from '../../test/expect-problem.ts';
import { createOwnResources } from '../../test/own-resources.ts';
import { setupApi, startApi } from '../../test/start-api.ts';
import type { Caller, TestApi } from '../../test/start-api.ts';
import { createUnmeteredSlots } from './account-slots.ts';

const IN_FLIGHT_MAX = 4;
const WAITING_MAX = 32;
const DETAIL = 'Too many requests of the account are in flight at the moment. Send it again later.';

const api = setupApi();
let caller: Caller;

beforeEach(async () => void (caller = await api.newCaller({ scopes: SCOPES })));

interface Sent {
  readonly sent: ClientRequest;
  readonly answer: Promise<Answered>;
}

interface Answered {
  readonly status: number | undefined;
  readonly body: string;
}

async function answerOf(sent: ClientRequest): Promise<Answered> {
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: response.statusCode, body: await text(response) };
}

/** Creates a suppression. A lock on the table stops the request. */
function suppress(by: Caller, at: TestApi): Sent {
  const headers = { authorization: by.authorization, 'content-type': 'application/json' };
  const sent = httpRequest(`${at.url}/v1/suppressions`, { method: 'POST', headers, agent: false });
  sent.end(JSON.stringify({ email: `${randomUUID()}@b.example` }));
  const answer = answerOf(sent);
  answer.catch(() => undefined); // a test may abort the request
  return { sent, answer };
}

/** Does `work` while the table `suppressions` is locked, and returns its result. */
async function whileLocked<T>(work: () => Promise<T>, at = api): Promise<T> {
  return withClient(at.database.url, async (session) => {
    await session.query('begin; lock table suppressions in access exclusive mode');
    const done = await work();
    await session.query('rollback');
    return done;
  });
}

function begin(count: number, { by, at } = { by: caller, at: api }): readonly Sent[] {
  return Array.from({ length: count }, () => suppress(by, at));
}

async function untilInFlight(at = api, count = IN_FLIGHT_MAX): Promise<void> {
  await waitFor(async () => (await blocked(at)) === count, { what: 'the requests in flight' });
}

async function blocked(at = api): Promise<number> {
  const found = await at.database.query(
    `select from pg_stat_activity
     where datname = current_database() and application_name = 'api-test' and wait_event_type = 'Lock'`,
  );
  return found.length;
}

async function firstOf(sent: readonly Sent[]) {
  return Promise.race(sent.map(async ({ answer }) => answer));
}

/** Counts the answers by status. */
async function statuses(sent: readonly Sent[]): Promise<Record<number, number>> {
  const counts: Record<number, number> = {};
  for (const { answer } of sent) {
    const { status = 0 } = await answer;
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

const REFUSED = { status: 503, body: expect.stringContaining(DETAIL) as unknown };

test('an account has 4 requests in flight and 32 waiting; the next is refused at once, the 36 are served', async () => {
  const begun = await whileLocked(async () => {
    const all = begin(IN_FLIGHT_MAX + WAITING_MAX + 1);
    expect(await firstOf(all)).toEqual(REFUSED);
    await untilInFlight();
    return all;
  });
  expect(await statuses(begun)).toEqual({ 201: IN_FLIGHT_MAX + WAITING_MAX, 503: 1 });
});

test('a busy account delays no other account, and none of its own routes with a rate limit', async () => {
  const other = await api.newCaller({ scopes: SCOPES });
  const begun = await whileLocked(async () => {
    const all = begin(IN_FLIGHT_MAX + 1);
    await untilInFlight();
    for (const [by, path] of [
      [other, '/v1/topics'],
      [caller, '/v1/webhooks'],
    ] as const) {
      const answer = await request(api.url).get(path).set('authorization', by.authorization);
      expect(answer.status).toBe(200);
    }
    return all;
  });
  expect(await statuses(begun)).toEqual({ 201: IN_FLIGHT_MAX + 1 });
});

test('with 5 connections an account has 2 of 4 slots, all accounts 3, and a recipient the last', async () => {
  const small = await startApi({ storeConnections: 5 });
  const [one, other] = [await small.newCaller({ scopes: SCOPES }), await small.newCaller({ scopes: SCOPES })];
  const token = await createOwnResources(small, other).idOf('token');
  const begun = await whileLocked(async () => {
    const ofOne = begin(4, { by: one, at: small });
    await untilInFlight(small, 2);
    const topics = await request(small.url).get('/v1/topics').set('authorization', other.authorization);
    expect([topics.status, await blocked(small)]).toEqual([200, 2]);
    const ofOther = begin(2, { by: other, at: small });
    await untilInFlight(small, 3);
    const list = await request(small.url).get('/v1/webhooks').set('authorization', other.authorization);
    expect([list.status, await blocked(small)]).toEqual([200, 3]);
    expect((await request(small.url).get(`/u/${token}`)).status).toBe(200);
    return [...ofOne, ...ofOther];
  }, small);
  expect(await statuses(begun)).toEqual({ 201: 6 });
  await small.stop();
});

test('a request that waited 10 s is refused', async () => {
  const begun = await whileLocked(async () => {
    const inFlight = begin(IN_FLIGHT_MAX);
    await untilInFlight();
    const sentAtMs = performance.now();
    expect(await firstOf([...begin(1), ...inFlight])).toEqual(REFUSED);
    expect(performance.now() - sentAtMs).toBeGreaterThan(9_900);
    return inFlight;
  });
  expect(await statuses(begun)).toEqual({ 201: IN_FLIGHT_MAX });
});

test('a request whose client has disconnected is not served, even when a slot is free', async () => {
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  response.destroy();
  const work = async (): Promise<string> => Promise.resolve('done');
  const limits = { perSecond: 1, outstandingMax: 1, outstandingOf: async () => Promise.resolve(0) };
  expect(await createUnmeteredSlots(2, limits).accountSlots.run('acct_1', work, response)).toBeNull();
  expect(await createUnmeteredSlots(2, limits).accountSlots.run('acct_1', work)).toBe('done');
});

test('the requests of disconnected clients leave the queue', async () => {
  const begun = await whileLocked(async () => {
    const inFlight = begin(IN_FLIGHT_MAX);
    await untilInFlight();
    const gone = begin(WAITING_MAX + 1);
    const refused = await Promise.race(gone.map(async (each) => each.answer.then(() => each)));
    for (const each of gone) if (each !== refused) each.sent.socket?.resetAndDestroy();
    const next = begin(WAITING_MAX + 1);
    expect(await firstOf(next)).toEqual(REFUSED);
    return [...inFlight, ...next];
  });
  expect(await statuses(begun)).toEqual({ 201: IN_FLIGHT_MAX + WAITING_MAX, 503: 1 });
});

test('a request that is refused for its body or its scope takes no slot', async () => {
  const unscoped = await api.newCaller({ accountId: caller.accountId, scopes: ['emails:send'] });
  const begun = await whileLocked(async () => {
    const all = begin(IN_FLIGHT_MAX + WAITING_MAX + 1);
    expect(await firstOf(all)).toEqual(REFUSED);
    const post = request(api.url).post('/v1/suppressions');
    expect((await post.set('authorization', caller.authorization).type('json').send('{')).status).toBe(400);
    const get = request(api.url).get('/v1/suppressions');
    expectProblem(await get.set('authorization', unscoped.authorization), 'api-key-forbidden');
    return all;
  });
  await statuses(begun);
});

test('a key that is revoked while its request waits for a slot gets 401, and nothing is stored', async () => {
  const other = await api.newCaller({ accountId: caller.accountId, scopes: SCOPES });
  const begun = await whileLocked(async () => {
    const inFlight = begin(IN_FLIGHT_MAX);
    await untilInFlight();
    const waiting = begin(WAITING_MAX + 1, { by: other, at: api });
    // The queue is full, so the others wait.
    expect(await firstOf(waiting)).toEqual(REFUSED);
    await api.revoke(other.keyId);
    return { inFlight, waiting };
  });
  expect(await statuses(begun.waiting)).toEqual({ 401: WAITING_MAX, 503: 1 });
  expect(await statuses(begun.inFlight)).toEqual({ 201: IN_FLIGHT_MAX });
});
