import { afterEach, expect, test } from '@jest/globals';
import type { RateLimiter } from '@postrider/domain';
import { createRedisRateLimiter } from '@postrider/rate-limit';
import { describeWithRedis, startTcpListener, startTcpProxy } from '@postrider/testing';
import request from 'supertest';
import { EVERY_ROUTE, requestOf } from '../../test/every-route.ts';
import { expectProblem } from '../../test/expect-problem.ts';
import { startApi } from '../../test/start-api.ts';
import type { TestApi, TestApiOptions } from '../../test/start-api.ts';

let releases: (() => unknown)[] = [];

afterEach(async () => {
  for (const release of releases.reverse()) await release();
  releases = [];
});

async function started(options: TestApiOptions): Promise<TestApi> {
  const api = await startApi(options);
  releases.push(() => api.stop());
  return api;
}

/** A limiter on the Redis at `redisUrl`; `timeoutMs` long where it must answer, as short as wanted where it cannot. */
function redisLimiter(redisUrl: string, timeoutMs = 10_000): RateLimiter {
  const prefix = `test-${process.pid}-${releases.length}`;
  const limiter = createRedisRateLimiter({ redisUrl, prefix, timeoutMs, onUnavailable: () => undefined });
  releases.push(() => limiter.close());
  return limiter;
}

function list(api: TestApi, authorization: string) {
  return request(api.url).get('/v1/webhooks').set('authorization', authorization);
}

async function statuses(api: TestApi, authorization: string, count: number): Promise<number[]> {
  const responses = await Promise.all(Array.from({ length: count }, async () => list(api, authorization)));
  return responses.map(({ status }) => status);
}

const LIMITED = EVERY_ROUTE.filter(({ unlimited }) => unlimited !== true);
const UNLIMITED = EVERY_ROUTE.filter(({ unlimited }) => unlimited === true);

/** Every limited route is refused, says why to us and not to the caller, and stores nothing; the others are served. */
async function expectEveryRouteRefused(api: TestApi): Promise<void> {
  const { accountId, authorization } = await api.newCaller({ rateLimitPerMinute: 7 });
  for (const route of LIMITED) {
    const response = await requestOf(api.url, route).set('authorization', authorization);
    const cost = route.path.endsWith('/batch') ? '1 or more' : '1';
    expect(expectProblem(response, 'rate-limited')).toBe(
      `The request costs ${cost}, which could not be counted against the key's limit of 7 per minute just now.`,
    );
  }
  const stored = await api.database.query(
    'select id from webhooks where account_id = $1 union all select id from emails where account_id = $1',
    [accountId],
  );
  expect(stored).toEqual([]);
  const { text } = await request(api.url).get('/metrics');
  expect(text).toContain(`postrider_rate_limiter_failures_total{service="api"} ${LIMITED.length}`);
  const lines = api
    .log()
    .split('\n')
    .filter((line) => line.includes('"refused_by":"limiter-unavailable"'));
  expect(lines).toHaveLength(LIMITED.length);
  expectProblem(await request(api.url).get('/v1/webhooks'), 'api-key-unauthorized');
  const { authorization: other } = await api.newCaller({ scopes: ['suppressions:manage'] });
  for (const route of UNLIMITED) {
    const { status } = await requestOf(api.url, route).set('authorization', other);
    expect([200, 201, 404]).toContain(status);
  }
  expect((await request(api.url).get('/readyz')).status).toBe(200);
}

test('a key without a limit of its own has that of the deployment; others are not touched by it', async () => {
  const api = await started({ keyRateLimitPerMinute: 3 });
  const [ordinary, generous] = [await api.newCaller(), await api.newCaller({ rateLimitPerMinute: 5 })];
  expect((await statuses(api, ordinary.authorization, 6)).sort()).toEqual([200, 200, 200, 429, 429, 429]);
  expect((await statuses(api, generous.authorization, 6)).sort()).toEqual([200, 200, 200, 200, 200, 429]);
  const detail = expectProblem(await list(api, ordinary.authorization), 'rate-limited');
  expect(detail).toContain("costs 1, which does not fit in what is left of the key's limit of 3 per minute");
});

test('two keys of one account are counted apart', async () => {
  const api = await started({ keyRateLimitPerMinute: 1 });
  const first = await api.newCaller();
  const second = await api.newCaller({ accountId: first.accountId });
  expect(await statuses(api, first.authorization, 1)).toEqual([200]);
  expect(await statuses(api, second.authorization, 1)).toEqual([200]);
});

test('requests without a valid key are charged to nobody', async () => {
  const api = await started({ keyRateLimitPerMinute: 1 });
  const { authorization } = await api.newCaller();
  for (let n = 0; n < 3; n += 1) await request(api.url).get('/v1/webhooks');
  expect(await statuses(api, authorization, 1)).toEqual([200]);
});

test('while Redis takes connections and never answers, every route is refused with 429', async () => {
  const silent = await startTcpListener();
  releases.push(() => silent.close());
  const limiter = redisLimiter(`redis://127.0.0.1:${silent.port}`, 20);
  await expectEveryRouteRefused(await started({ limiter }));
});

test('while nobody listens where Redis should be, every route is refused with 429', async () => {
  const gone = await startTcpListener();
  await gone.close();
  await expectEveryRouteRefused(await started({ limiter: redisLimiter(`redis://127.0.0.1:${gone.port}`) }));
});

describeWithRedis('with Redis', (redisUrl) => {
  test('the limit is kept there', async () => {
    const api = await started({ limiter: redisLimiter(redisUrl), keyRateLimitPerMinute: 2 });
    const { authorization } = await api.newCaller();
    expect((await statuses(api, authorization, 4)).sort()).toEqual([200, 200, 429, 429]);
  });

  test('a Redis that falls silent is a 429', async () => {
    const proxy = await startTcpProxy(redisUrl);
    releases.push(() => proxy.close());
    const api = await started({ limiter: redisLimiter(proxy.url(redisUrl), 1_000) });
    const { authorization } = await api.newCaller();
    expect(await statuses(api, authorization, 1)).toEqual([200]);
    proxy.silence();
    expectProblem(await list(api, authorization), 'rate-limited');
  });
});
