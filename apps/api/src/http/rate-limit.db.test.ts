import { afterEach, expect, test } from '@jest/globals';
import { createRedisRateLimiter } from '@postrider/rate-limit';
import { describeWithRedis } from '@postrider/testing';
import request from 'supertest';
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

function list(api: TestApi, authorization: string) {
  return request(api.url).get('/v1/webhooks').set('authorization', authorization);
}

async function statuses(api: TestApi, authorization: string, count: number): Promise<number[]> {
  const responses = await Promise.all(Array.from({ length: count }, async () => list(api, authorization)));
  return responses.map(({ status }) => status);
}

test('a key without its own limit has the deployment’s limit; other keys keep theirs', async () => {
  const api = await started({ keyRateLimitPerMinute: 3 });
  const [ordinary, generous] = [await api.newCaller(), await api.newCaller({ rateLimitPerMinute: 5 })];
  expect((await statuses(api, ordinary.authorization, 6)).sort()).toEqual([200, 200, 200, 429, 429, 429]);
  expect((await statuses(api, generous.authorization, 6)).sort()).toEqual([200, 200, 200, 200, 200, 429]);
  const detail = expectProblem(await list(api, ordinary.authorization), 'rate-limited');
  expect(detail).toContain("costs 1, which does not fit in what is left of the key's limit of 3 per minute");
});

test('two keys of one account count separately', async () => {
  const api = await started({ keyRateLimitPerMinute: 1 });
  const first = await api.newCaller();
  const second = await api.newCaller({ accountId: first.accountId });
  expect(await statuses(api, first.authorization, 1)).toEqual([200]);
  expect(await statuses(api, second.authorization, 1)).toEqual([200]);
});

test('requests without a valid key charge no key', async () => {
  const api = await started({ keyRateLimitPerMinute: 1 });
  const { authorization } = await api.newCaller();
  for (let n = 0; n < 3; n += 1) await request(api.url).get('/v1/webhooks');
  expect(await statuses(api, authorization, 1)).toEqual([200]);
});

describeWithRedis('with Redis', (redisUrl) => {
  test('the limit is kept there', async () => {
    const prefix = `test-${process.pid}`;
    const patient = { timeoutMs: 10_000, onUnavailable: () => undefined };
    const limiter = createRedisRateLimiter({ redisUrl, prefix, ...patient });
    releases.push(() => limiter.close());
    const api = await started({ limiter, keyRateLimitPerMinute: 2 });
    const { authorization } = await api.newCaller();
    expect((await statuses(api, authorization, 4)).sort()).toEqual([200, 200, 429, 429]);
  });
});
