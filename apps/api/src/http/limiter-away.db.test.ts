import { afterEach, describe, expect, test } from '@jest/globals';
import { SCOPES } from '@postrider/domain';
import type { RateLimiter } from '@postrider/domain';
import { createPostgresRateLimiter, createRedisRateLimiter } from '@postrider/rate-limit';
import { createPool } from '@postrider/store';
import {
  CLOSED_PORT,
  createTestDatabase,
  describeWithRedis,
  startTcpListener,
  startFaultProxy,
  waitFor,
} from '@postrider/testing';
import type { FaultProxy } from '@postrider/testing';
import request from 'supertest';
import { everythingStored } from '../../test/everything-stored.ts';
import { EVERY_ROUTE, KEYED_ROUTES, requestOf } from '../../test/every-route.ts';
import { expectProblem } from '../../test/expect-problem.ts';
import { startFakeDomains } from '../../test/fake-domains.ts';
import { FUZZED_SNS } from '../../test/fuzz/fuzzed-sns.ts';
import { successes } from '../../test/fuzz/route-contracts.ts';
import { startApi } from '../../test/start-api.ts';
import type { TestApi } from '../../test/start-api.ts';

/** Longer than any test may take. So an answer within this time does not come from the deadline. */
const NEVER_MS = 600_000;

let releases: (() => unknown)[] = [];

afterEach(async () => {
  for (const release of releases.reverse()) await release();
  releases = [];
});

/** A limiter and the proxy to its store. */
interface LimiterBehindProxy {
  readonly limiter: RateLimiter;
  readonly proxy: FaultProxy;
  /** The reasons of the refusals without an answer of the store. */
  readonly faults: readonly Error[];
}

/** @param timeoutMs the deadline. The default is the production deadline. */
type StartLimiter = (timeoutMs?: number) => Promise<LimiterBehindProxy>;

async function startedWith(limiter: RateLimiter): Promise<TestApi> {
  const domains = await startFakeDomains();
  releases.push(() => domains.stop());
  const api = await startApi({ limiter, domainProvider: domains.provider, sns: FUZZED_SNS.access });
  releases.push(() => api.stop());
  return api;
}

const LIMITED = KEYED_ROUTES.filter(({ limited }) => limited);
const UNLIMITED = EVERY_ROUTE.filter(({ limited }) => !limited);

/**
 * Every limited route refuses, logs the reason without telling the caller, and stores nothing. The API serves
 * the other routes.
 */
async function expectEveryLimitedRouteRefused(api: TestApi): Promise<void> {
  const { authorization } = await api.newCaller({ scopes: SCOPES, rateLimitPerMinute: 7 });
  const before = await everythingStored(api.database);
  const [linesBefore, countedBefore] = [refusedLines(api), await countedFailures(api)];
  await Promise.all(
    LIMITED.map(async (route) => {
      const response = await requestOf(api.url, route).set('authorization', authorization);
      const cost = route.path.endsWith('/batch') ? '1 or more' : '1';
      expect(expectProblem(response, 'rate-limited')).toBe(
        `The request costs ${cost}, which could not be counted against the key's limit of 7 per minute just now.`,
      );
    }),
  );
  expect(await everythingStored(api.database)).toEqual(before);
  expect(refusedLines(api) - linesBefore).toBe(LIMITED.length);
  expect((await countedFailures(api)) - countedBefore).toBe(LIMITED.length);
  expectProblem(await request(api.url).get('/v1/webhooks'), 'api-key-unauthorized');
  for (const route of UNLIMITED) {
    const asked = requestOf(api.url, route);
    const { status } = await (route.scope === null ? asked : asked.set('authorization', authorization));
    const served = [
      ...successes(route.contract),
      ...(route.scope === null && route.contract.absent === undefined ? [] : ['404']),
    ];
    expect(served.map((kind) => `${route.name} ${kind.slice(0, 3)}`)).toContain(`${route.name} ${status}`);
  }
  expect((await request(api.url).get('/readyz')).status).toBe(200);
}

function refusedLines(api: TestApi): number {
  return api.log().split('"refused_by":"limiter-unavailable"').length - 1;
}

async function countedFailures(api: TestApi): Promise<number> {
  const { text } = await request(api.url).get('/metrics');
  return Number(/^postrider_rate_limiter_failures_total\{service="api"\} (\d+)$/m.exec(text)?.[1]);
}

async function untilServed(api: TestApi): Promise<void> {
  const { authorization } = await api.newCaller();
  const ask = () => request(api.url).get('/v1/webhooks').set('authorization', authorization);
  await waitFor(async () => (await ask()).status === 200, { what: 'a request that is counted' });
}

function whileItsStoreIsAway(start: StartLimiter): void {
  test('hangs: every limited route answers 429 within the deadline of 250 ms', async () => {
    const { limiter, proxy, faults } = await start();
    const api = await startedWith(limiter);
    await untilServed(api);
    const known = faults.length;
    proxy.drop();
    await expectEveryLimitedRouteRefused(api);
    expect(faults[known]?.message).toBe("the limiter's store did not answer within 250 ms");
    expect(faults).toHaveLength(known + LIMITED.length);
    proxy.takeAway(); // what a connection swallowed does not come later
    proxy.restore();
    await untilServed(api);
  });

  test('is gone: every limited route answers 429 at once', async () => {
    const { limiter, proxy, faults } = await start(NEVER_MS);
    const api = await startedWith(limiter);
    await untilServed(api);
    proxy.takeAway();
    await expectEveryLimitedRouteRefused(api);
    expect(faults).toHaveLength(LIMITED.length);
    proxy.restore();
    await untilServed(api);
  });
}

describe('while the limiter’s Postgres', () => {
  whileItsStoreIsAway(async (timeoutMs) => {
    const counts = await createTestDatabase();
    releases.push(() => counts.drop());
    const proxy = await startFaultProxy(counts.url);
    const pool = createPool({
      databaseUrl: proxy.url(counts.url),
      size: 10,
      applicationName: 'limiter-test',
      durableCommits: false,
      onError: () => undefined, // idle connections are cut as well
    });
    releases.push(async () => {
      await proxy.close(); // breaks what still hangs, so that the pool can end
      await pool.end();
    });
    const faults: Error[] = [];
    const limiter = createPostgresRateLimiter({
      query: async (sql, params) => (await pool.query<object>(sql, [...params])).rows,
      onUnavailable: (error) => void faults.push(error),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    });
    return { limiter, proxy, faults };
  });
});

/** @param timeoutMs see `StartLimiter`. */
function redisLimiter(redisUrl: string, timeoutMs?: number): Omit<LimiterBehindProxy, 'proxy'> {
  const faults: Error[] = [];
  const limiter = createRedisRateLimiter({
    redisUrl,
    prefix: `test-${process.pid}`,
    onUnavailable: (error) => void faults.push(error),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });
  releases.push(() => limiter.close());
  return { limiter, faults };
}

describeWithRedis('while the limiter’s Redis', (redisUrl) => {
  whileItsStoreIsAway(async (timeoutMs) => {
    const proxy = await startFaultProxy(redisUrl);
    releases.push(() => proxy.close());
    return { ...redisLimiter(proxy.url(redisUrl), timeoutMs), proxy };
  });
});

describe('with a Redis that was never there', () => {
  test('that accepts connections and stays silent, every limited route answers 429 by the deadline', async () => {
    const silent = await startTcpListener();
    releases.push(() => silent.close());
    const api = await startedWith(redisLimiter(`redis://127.0.0.1:${silent.port}`).limiter);
    await expectEveryLimitedRouteRefused(api);
    expect(silent.connections).toBeGreaterThan(0);
  });

  test('that does not listen, every limited route answers 429 at once', async () => {
    const { limiter, faults } = redisLimiter(`redis://127.0.0.1:${CLOSED_PORT}`, NEVER_MS);
    await expectEveryLimitedRouteRefused(await startedWith(limiter));
    expect(faults).toHaveLength(LIMITED.length);
  });
});
