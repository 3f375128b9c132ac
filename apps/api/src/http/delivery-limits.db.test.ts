import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterEach, expect, test } from '@jest/globals';
import { newId, SCOPES } from '@postrider/domain';
import { systemClock } from '@postrider/runtime';
import { testWithLoopbackNetwork, withClient } from '@postrider/testing';
import request from 'supertest';
import { expectProblem } from '../../test/expect-problem.ts';
import { createOwnResources } from '../../test/own-resources.ts';
import { startApi } from '../../test/start-api.ts';
import type { Caller, TestApi, TestApiOptions } from '../../test/start-api.ts';

/* Requests without a rate limit write one delivery for each address and webhook. */

const IN_FLIGHT_MAX = 4;
const WAITING_MAX = 32;

let api: TestApi;
let stopped: AbortController;

afterEach(async () => {
  stopped.abort();
  await api.stop();
});

async function start(options: TestApiOptions): Promise<Caller> {
  stopped = new AbortController();
  api = await startApi(options);
  return accountWithWebhook();
}

async function accountWithWebhook(): Promise<Caller> {
  const caller = await api.newCaller({ scopes: SCOPES });
  await createOwnResources(api, caller).idOf('webhook');
  return caller;
}

/** Suppresses new addresses. @returns the status of the answer. */
async function suppress({ authorization }: Caller, count: number): Promise<number> {
  const emails = Array.from({ length: count }, () => `${randomUUID()}@b.example`);
  const answer = await fetch(`${api.url}/v1/suppressions/batch/add`, {
    method: 'POST',
    headers: { authorization },
    body: JSON.stringify({ emails }),
    signal: stopped.signal,
  });
  return answer.status;
}

/** Fills the queue of the account. One request is refused at once. @returns the others, which wait. */
async function fillQueue(caller: Caller): Promise<{ readonly waiting: Promise<number>[] }> {
  const sent = Array.from({ length: WAITING_MAX + 1 }, async () => suppress(caller, 1));
  for (const each of sent) each.catch(() => undefined);
  const refused = await Promise.race(
    sent.map(async (each, index) => each.then((status) => ({ status, index }))),
  );
  expect(refused.status).toBe(503);
  return { waiting: sent.filter((_, index) => index !== refused.index) };
}

test('requests that wrote more deliveries than the limit per second keep their slots; only the account’s own wait', async () => {
  const caller = await start({ deliveryLimits: { perSecond: 1 } });
  for (let n = 0; n < IN_FLIGHT_MAX; n += 1) expect(await suppress(caller, 100)).toBe(201);
  await fillQueue(caller);
  const webhooks = await request(api.url).get('/v1/webhooks').set('authorization', caller.authorization);
  expect(webhooks.status).toBe(200);
  expect(await suppress(await accountWithWebhook(), 1)).toBe(201);
  expectProblem(
    await request(api.url).get('/v1/topics').set('authorization', caller.authorization),
    'not-ready',
  );
});

async function ask({ authorization }: Caller, method: string, path: string, body?: object): Promise<unknown> {
  const answer = await fetch(`${api.url}/v1/${path}`, {
    method,
    headers: { authorization },
    body: JSON.stringify(body),
  });
  expect(answer.ok).toBe(true);
  return answer.json();
}

const TOPIC = { name: 'News', default_subscription: 'opt_in' };

/** @param id a suppression or a topic of the account */
const WRITES: [string, 'suppression' | 'topic', (caller: Caller, id: string) => Promise<unknown>][] = [
  ['adds a suppression', 'suppression', async (caller) => suppress(caller, 1)],
  ['removes a suppression', 'suppression', async (caller, id) => ask(caller, 'DELETE', `suppressions/${id}`)],
  [
    'removes a list of suppressions',
    'suppression',
    async (caller, id) => ask(caller, 'POST', 'suppressions/batch/remove', { ids: [id] }),
  ],
  ['adds a topic', 'topic', async (caller) => ask(caller, 'POST', 'topics', TOPIC)],
  ['changes a topic', 'topic', async (caller, id) => ask(caller, 'PATCH', `topics/${id}`, { name: 'Other' })],
  ['removes a topic', 'topic', async (caller, id) => ask(caller, 'DELETE', `topics/${id}`)],
];

test.each(WRITES)('a request that %s counts as one delivery, if it writes none', async (_, noun, write) => {
  await start({ deliveryLimits: { perSecond: 0.001 } });
  const caller = await api.newCaller({ scopes: SCOPES });
  for (let n = 0; n < IN_FLIGHT_MAX; n += 1) {
    const id = newId(noun, systemClock);
    await api.database.query(
      noun === 'topic'
        ? `insert into topics (id, account_id, name, default_subscription, created_at) values ($1, $2, 'T', 'opt_in', now())`
        : `insert into suppressions (id, account_id, address, origin, created_at) values ($1, $2, $1, 'manual', now())`,
      [id, caller.accountId],
    );
    await write(caller, id);
  }
  await fillQueue(caller);
});

test('requests that write nothing hold no slot', async () => {
  await start({ deliveryLimits: { perSecond: 0.001 } });
  const caller = await api.newCaller({ scopes: SCOPES });
  for (let n = 0; n <= IN_FLIGHT_MAX; n += 1) {
    const removal = { ids: [newId('suppression', systemClock)] };
    expect(await ask(caller, 'POST', 'suppressions/batch/remove', removal)).toEqual({ data: [] });
  }
});

test('deliveries within the limit per second hold no slot', async () => {
  const caller = await start({ deliveryLimits: { perSecond: 1_000_000 } });
  const sent = Array.from({ length: WAITING_MAX }, async () => suppress(caller, 10));
  expect(await Promise.all(sent)).toEqual(Array<number>(WAITING_MAX).fill(201));
});

test('above the limit of outstanding deliveries requests wait until some are done', async () => {
  const caller = await start({ deliveryLimits: { outstandingMax: 10 } });
  for (let n = 0; n < IN_FLIGHT_MAX; n += 1) expect(await suppress(caller, 10)).toBe(201);
  const { waiting } = await fillQueue(caller);
  const [{ count } = { count: 0 }] = await api.database.query<{ count: number }>(
    'select count(*)::int as count from deliveries',
  );
  expect(count).toBe(10 * IN_FLIGHT_MAX);
  await api.database.query('delete from deliveries');
  expect(await Promise.race(waiting)).toBe(201);
});

/** Asks from one address of the loopback network. Each of them counts as a client. */
async function askFrom(localAddress: string, method: string, path: string) {
  const asked = httpRequest(`${api.url}${path}`, { method, localAddress, agent: false });
  const [answer] = (await once(asked.end(), 'response')) as [IncomingMessage];
  return { status: answer.statusCode, body: await text(answer) };
}

testWithLoopbackNetwork.each([
  ['POST', 'suppressions', '/v1/topics'],
  ['GET', 'topics', '/v1/suppressions'],
])(
  'a client address has 4 requests to %s /u/ in flight and 32 waiting; the next is refused, and no other client’s',
  async (method, table, unlocked) => {
    const caller = await start({});
    const own = createOwnResources(api, caller);
    const tokens = await Promise.all(
      Array.from({ length: IN_FLIGHT_MAX + WAITING_MAX + 1 }, () => own.idOf('token')),
    );
    const [first = ''] = tokens;
    const { sent, other } = await withClient(api.database.url, async (session) => {
      await session.query(`begin; lock table ${table} in access exclusive mode`);
      const all = tokens.map(async (token) => askFrom('127.0.0.1', method, `/u/${token}`));
      const refused = await Promise.race(all);
      expect(refused.status).toBe(503);
      expect(refused.body).toContain('Too many requests from this address');
      const foreign = askFrom('127.0.0.2', method, `/u/${first}`);
      const keyed = await request(api.url).get(unlocked).set('authorization', caller.authorization);
      expect(keyed.status).toBe(200);
      await session.query('rollback');
      return { sent: all, other: foreign };
    });
    const statuses = (await Promise.all(sent)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(IN_FLIGHT_MAX + WAITING_MAX);
    expect((await other).status).toBe(200);
  },
);
