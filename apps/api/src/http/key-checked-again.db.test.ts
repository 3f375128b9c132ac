import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SCOPES } from '@postrider/domain';
import { waitFor } from '@postrider/testing';
import request from 'supertest';
import { everythingStored } from '../../test/everything-stored.ts';
import { KEYED_ROUTES, pathOf } from '../../test/every-route.ts';
import { setupRawConnections } from '../../test/raw-request.ts';
import { startApi } from '../../test/start-api.ts';
import type { Caller, TestApi } from '../../test/start-api.ts';

let api: TestApi;
const { connect } = setupRawConnections();

beforeAll(async () => void (api = await startApi()));
afterAll(() => api.stop());

interface Begun {
  readonly name: string;
  /** Sends the rest of the body. @returns the status line of the answer. */
  readonly end: () => Promise<string>;
}

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';

/** Sends the head of a request, waits until the API reads the body, and sends all but its last byte. */
async function begin(name: string, path: string, body: object, { authorization }: Caller): Promise<Begun> {
  const bytes = Buffer.from(JSON.stringify(body));
  const raw = await connect(api.port);
  const head = [
    `${name.split(' ')[0]} ${path} HTTP/1.1`,
    'Host: api.test',
    `Authorization: ${authorization}`,
  ];
  raw.send([...head, 'Expect: 100-continue', `Content-Length: ${bytes.length}`, '', ''].join('\r\n'));
  await raw.until(CONTINUE);
  raw.send(bytes.subarray(0, -1));
  return {
    name,
    async end() {
      raw.send(bytes.subarray(-1));
      const answer = (await raw.until('x-request-id: ')).slice(CONTINUE.length);
      return answer.split('\r\n')[0] ?? '';
    },
  };
}

/** Begins one request of each route that reads a body. */
async function beginAll(caller: Caller): Promise<Begun[]> {
  const reading = KEYED_ROUTES.flatMap((route) =>
    route.body === undefined ? [] : [{ ...route, body: route.body }],
  );
  const begun = await Promise.all(
    reading.map((route) => begin(route.name, pathOf(route), route.body, caller)),
  );
  expect(begun.length).toBeGreaterThan(10);
  return begun;
}

async function answersOf(begun: readonly Begun[]): Promise<string[]> {
  return Promise.all(begun.map(async ({ name, end }) => `${name}: ${await end()}`));
}

/** Changes a key as the operator would, and waits until no request is served with the old one. */
async function change({ keyId, authorization }: Caller, set: string, status = 403): Promise<void> {
  await api.database.query(`update api_keys set ${set} where id = $1`, [keyId]);
  await waitFor(
    async () => {
      // This route has no rate limit.
      const answer = await request(api.url).get('/v1/topics').set('authorization', authorization);
      return answer.status === status;
    },
    { what: 'the API to see the changed key' },
  );
}

test('a body that ends after `key revoke` has returned gets 401, on every HTTP route, and stores nothing', async () => {
  const caller = await api.newCaller({ scopes: SCOPES });
  const begun = await beginAll(caller);
  await api.revoke(caller.keyId);
  const stored = await everythingStored(api.database);
  expect(await answersOf(begun)).toEqual(begun.map(({ name }) => `${name}: HTTP/1.1 401 Unauthorized`));
  expect(await everythingStored(api.database)).toEqual(stored);
});

test('a body that ends after the key has expired gets 401', async () => {
  const caller = await api.newCaller({ scopes: SCOPES });
  const begun = await beginAll(caller);
  await change(caller, 'expires_at = now()', 401);
  expect(await answersOf(begun)).toEqual(begun.map(({ name }) => `${name}: HTTP/1.1 401 Unauthorized`));
});

test('a body that ends after the scopes were taken gets 403', async () => {
  const caller = await api.newCaller({ scopes: SCOPES });
  const begun = await beginAll(caller);
  await change(caller, `scopes = '{}'`);
  expect(await answersOf(begun)).toEqual(begun.map(({ name }) => `${name}: HTTP/1.1 403 Forbidden`));
});

test('a body that ends after the account was suspended gets 403', async () => {
  const caller = await api.newCaller({ scopes: SCOPES });
  const begun = await beginAll(caller);
  await api.database.query('update accounts set suspended_at = now() where id = $1', [caller.accountId]);
  await change(caller, 'name = name');
  expect(await answersOf(begun)).toEqual(begun.map(({ name }) => `${name}: HTTP/1.1 403 Forbidden`));
});

test('a batch is charged against the limit that the key has when its body ends', async () => {
  const caller = await api.newCaller({ scopes: SCOPES, rateLimitPerMinute: 100 });
  const message = { from: 'a@a.example', to: 'b@b.example', subject: 'Hi', text: 'Hello' };
  const path = '/v1/emails/batch';
  const uses = await begin(`POST ${path}`, path, [message], caller);
  expect(await uses.end()).toBe('HTTP/1.1 200 OK');
  const batch = await begin(`POST ${path}`, path, [message, message], caller);
  await change(caller, `scopes = '{emails:send}', rate_limit_per_minute = 2`);
  expect(await batch.end()).toBe('HTTP/1.1 429 Too Many Requests');
});
