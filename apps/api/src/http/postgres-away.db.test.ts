import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { SCOPES } from '@postrider/domain';
import { adminDatabaseUrl, setup, startFaultProxy, withClient } from '@postrider/testing';
import request from 'supertest';
import { everythingStored } from '../../test/everything-stored.ts';
import { EVERY_ROUTE, KEYED_ROUTES, requestOf, titled } from '../../test/every-route.ts';
import type { KnownRoute } from '../../test/every-route.ts';
import { expectProblem } from '../../test/expect-problem.ts';
import { setupFakeDomains } from '../../test/fake-domains.ts';
import { FUZZED_SNS } from '../../test/fuzz/fuzzed-sns.ts';
import { setupApi } from '../../test/start-api.ts';
import type { TestApi } from '../../test/start-api.ts';

const proxy = setup(
  () => startFaultProxy(adminDatabaseUrl()),
  (opened) => opened.close(),
);
const through = (url: string): string => proxy.url(url);
const domains = setupFakeDomains();
const deployment = () => ({ domainProvider: domains.provider, sns: FUZZED_SNS.access });
const api = setupApi(() => ({ ...deployment(), through }));
/** Its keys and its limiter reach Postgres without the proxy. */
const halfApi = setupApi(() => ({ ...deployment(), storesThrough: through }));
let authorization: string;

beforeAll(async () => void ({ authorization } = await api.newCaller()));
beforeEach(() => proxy.restore());

/**
 * A key that the API must look up in Postgres. A key cached within the last second would reach the limiter
 * and its 429.
 */
async function unknownYet(): Promise<string> {
  return (await api.newCaller()).authorization;
}

/** A valid request. */
async function expectNotReady({ url }: TestApi, route: KnownRoute, key: string): Promise<void> {
  const asked = requestOf(url, route);
  const response = await (route.scope === null ? asked : asked.set('authorization', key));
  expect(expectProblem(response, 'not-ready')).toBe(
    'The storage cannot be reached at the moment. Try again later.',
  );
}

describe.each(titled(EVERY_ROUTE))('while Postgres cannot be reached, %s', (_, route) => {
  test('answers 503', async () => {
    proxy.takeAway();
    await expectNotReady(api, route, authorization);
  });

  test('answers 503 when only its own stores fail, and nothing is stored', async () => {
    const { authorization: key } = await halfApi.newCaller({ scopes: SCOPES });
    const before = await everythingStored(halfApi.database);
    proxy.takeAway();
    await expectNotReady(halfApi, route, key);
    expect(await everythingStored(halfApi.database)).toEqual(before);
  });
});

describe.each(titled(KEYED_ROUTES))('while Postgres cannot be reached, %s', (_, route) => {
  test('answers 401 to a malformed key', async () => {
    proxy.takeAway();
    expectProblem(await requestOf(api.url, route), 'api-key-unauthorized');
  });
});

test.each([
  ['get', '/v1/webhooks', undefined, '"webhooks"'],
  ['post', '/v1/webhooks', { endpoint: 'https://a.example' }, '"webhooks"'],
  ['post', '/v1/emails', { from: 'a@a.example', to: 'b@b.example', subject: '', text: 'x' }, 'send-emails'],
] as const)('Postgres lost in the middle of %s %s: 503', async (method, path, body, words) => {
  // A first answer, so that the key look-up reconnects.
  await request(api.url).get('/v1/webhooks').set('authorization', authorization);
  const trap = proxy.trap({ sees: words, in: 'toServer', holds: 'toServer' });
  void trap.caught().then(() => proxy.takeAway());
  const test = request(api.url)[method](path).set('authorization', authorization);
  expectProblem(await (body === undefined ? test : test.send(body)), 'not-ready');
});

test.each([
  ['a Postgres error', /^postrider_postgres_errors_total\{.*\} (\d+)$/gm],
  ['a failure of the API', /^postrider_http_failures_total\{problem="not-ready",.*\} (\d+)$/gm],
])('each of these answers counts as %s', async (_, samples) => {
  const counted = async (): Promise<number> => {
    const { text } = await request(api.url).get('/metrics');
    const values = [...text.matchAll(samples)].map(([, n]) => Number(n));
    return values.reduce((sum, value) => sum + value, 0);
  };
  const key = await unknownYet();
  const before = await counted();
  proxy.takeAway();
  for (let n = 0; n < 2; n += 1) {
    expectProblem(await request(api.url).get('/v1/webhooks').set('authorization', key), 'not-ready');
  }
  expect(await counted()).toBe(before + 2);
});

test('the log and the metric say that a lock is taken, not that Postgres is away', async () => {
  await api.database.query(`
    create function lock_is_taken() returns trigger language plpgsql as $$ begin raise 'busy' using errcode = '55P03'; end $$;
    create trigger lock_is_taken before insert on topics for each row execute function lock_is_taken()`);
  const { authorization: key } = await api.newCaller({ scopes: SCOPES });
  const test = request(api.url).post('/v1/topics').set('authorization', key);
  const response = await test.send({ name: 'News', default_subscription: 'opt_in' });
  await api.database.query('drop function lock_is_taken cascade');
  expectProblem(response, 'not-ready');
  const id = String(response.headers['x-request-id']);
  const line = api
    .log()
    .split('\n')
    .find((each) => each.includes(id) && each.includes('not served'));
  expect(JSON.parse(line ?? '{}')).toMatchObject({
    level: 'warn',
    msg: 'request not served: another session holds a lock',
  });
  const { text } = await request(api.url).get('/metrics');
  expect(text).toContain('postrider_postgres_errors_total{code="55P03",service="api"} 1');
});

test('the API serves again once Postgres is back', async () => {
  const key = await unknownYet();
  proxy.takeAway();
  expectProblem(await request(api.url).get('/v1/webhooks').set('authorization', key), 'not-ready');
  proxy.restore();
  const response = await request(api.url).get('/v1/webhooks').set('authorization', key);
  expect(response.status).toBe(200);
});

test('a database that accepts no connections is 503, until it does', async () => {
  const key = await unknownYet();
  const name = new URL(api.database.url).pathname.slice(1);
  const ask = () => request(api.url).get('/v1/webhooks').set('authorization', key);
  await withClient(adminDatabaseUrl(), async (admin) => {
    await admin.query(`alter database ${name} allow_connections false`);
    await admin.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and application_name <> ''`,
      [name],
    );
    expectProblem(await ask(), 'not-ready');
    expectProblem(await ask(), 'not-ready');
    await admin.query(`alter database ${name} allow_connections true`);
  });
  expect((await ask()).status).toBe(200);
});

test('/readyz is 503 while Postgres is away and 200 when it is back; /healthz is 200 throughout', async () => {
  proxy.takeAway();
  const away = await request(api.url).get('/readyz');
  expect(away.status).toBe(503);
  expect(away.body).toEqual({
    status: 'not-ready',
    reason: 'Postgres does not answer',
    parts: { postgres: 'Postgres does not answer', migrations: 'unknown' },
  });
  expect(api.log()).toContain('"msg":"not ready"');
  expect((await request(api.url).get('/healthz')).status).toBe(200);
  proxy.restore();
  expect((await request(api.url).get('/readyz')).body).toMatchObject({ status: 'ready' });
});
