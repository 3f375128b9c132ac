import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import {
  CLOSED_PORT,
  describeWithRedis,
  startFaultProxy,
  startRedisFailover,
  waitFor,
} from '@postrider/testing';
import { Redis } from 'ioredis';
import { blockEventLoop } from '../test/block-event-loop.ts';
import { rateLimiterConformance } from '../test/conformance.ts';
import type { StoreUnderTest } from '../test/conformance.ts';
import { createRedisRateLimiter } from './redis-rate-limiter.ts';

describeWithRedis('the rate limiter on Redis', (url) => {
  const prefix = `test-${randomBytes(6).toString('hex')}`;
  let redis: Redis;
  beforeAll(() => void (redis = new Redis(url)));
  afterAll(() => redis.disconnect());
  const fail = (error: Error) => {
    throw error;
  };

  const store: StoreUnderTest = {
    async start(options) {
      const proxy = await startFaultProxy(url);
      const faults: Error[] = [];
      const limiter = createRedisRateLimiter({
        redisUrl: proxy.url(url),
        prefix,
        onUnavailable: (error) => faults.push(error),
        ...options,
      });
      return {
        proxy,
        limiter,
        faults,
        close: async () => {
          limiter.close();
          await proxy.close();
        },
      };
    },
    async look(key) {
      const name = `${prefix}:rate:{${key}}`;
      return { remainingMs: await redis.pttl(name), used: Number(await redis.get(name)) };
    },
  };
  rateLimiterConformance(() => store);

  test('goes on when the server forgets its scripts', async () => {
    const limiter = createRedisRateLimiter({ redisUrl: url, prefix, onUnavailable: fail, timeoutMs: 10_000 });
    for (let count = 0; count < 3; count += 1) {
      expect(await limiter.charge('forgetful', 1, 60)).toEqual({ allowed: true });
      await redis.script('FLUSH');
    }
    const decisions = await Promise.all(
      Array.from({ length: 100 }, () => limiter.charge('forgetful', 1, 60)),
    );
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(57);
    limiter.close();
  });

  test('starts without the server, refuses at once, and finds it when it comes', async () => {
    const proxy = await startFaultProxy(url);
    proxy.takeAway();
    const faults: Error[] = [];
    const limiter = createRedisRateLimiter({
      redisUrl: proxy.url(url),
      prefix,
      onUnavailable: (error) => faults.push(error),
    });
    expect(await limiter.charge('early', 1, 60)).toEqual({ allowed: false, why: 'limiter-unavailable' });
    expect(faults).toHaveLength(1);
    proxy.restore();
    await waitFor(async () => (await limiter.charge('early', 1, 60)).allowed, { what: 'Redis' });
    limiter.close();
    await proxy.close();
  });

  test('finds a server that hung while it was being connected to', async () => {
    const proxy = await startFaultProxy(url);
    proxy.hold();
    const limiter = createRedisRateLimiter({
      redisUrl: proxy.url(url),
      prefix,
      onUnavailable: () => undefined,
    });
    expect((await limiter.charge('late', 1, 60)).allowed).toBe(false);
    proxy.pass();
    await waitFor(async () => (await limiter.charge('late', 1, 60)).allowed, { what: 'Redis' });
    limiter.close();
    await proxy.close();
  });

  test('gives up a connection whose other end is gone without a word, and makes a new one', async () => {
    const proxy = await startFaultProxy(url);
    const limiter = createRedisRateLimiter({
      redisUrl: proxy.url(url),
      prefix,
      onUnavailable: () => undefined,
    });
    await waitFor(async () => (await limiter.charge('lost', 1, 60)).allowed, { what: 'Redis' });
    proxy.strand();
    expect(await limiter.charge('lost', 1, 60)).toEqual({ allowed: false, why: 'limiter-unavailable' });
    await waitFor(async () => (await limiter.charge('lost', 1, 60)).allowed, { what: 'a new connection' });
    limiter.close();
    await proxy.close();
  });

  test.each(['demote', 'demoteLoading', 'loseReplicas', 'failToSave'] as const)(
    'gives up a server that cannot write any more (%s), and finds the one its address moved to',
    async (harm) => {
      const servers = await startRedisFailover();
      const limiter = createRedisRateLimiter({
        redisUrl: servers.url,
        prefix,
        onUnavailable: () => undefined,
      });
      const allowed = async () => (await limiter.charge('moved', 1, 10_000)).allowed;
      try {
        await waitFor(allowed, { what: 'Redis' });
        await servers[harm]();
        await waitFor(async () => !(await allowed()), { what: 'the old one to refuse' });
        await servers.reconnected();
        servers.move();
        await waitFor(allowed, { what: 'the other one' });
      } finally {
        limiter.close();
        await servers.close();
      }
    },
  );

  test('counts nothing in database 0 when the server refuses SELECT, and goes on when it does not', async () => {
    const user = `${prefix}-limited`;
    await redis.acl('SETUSER', user, 'on', '>secret', `~${prefix}:*`, '+@all', '-select');
    const refused: Error[] = [];
    const limiter = createRedisRateLimiter({
      redisUrl: Object.assign(new URL(url), { username: user, password: 'secret', pathname: '/1' }).href,
      prefix,
      onUnavailable: () => undefined,
      onError: (error) => refused.push(error),
    });
    await waitFor(() => refused.some(({ message }) => message.includes('NOPERM')), { what: 'a refusal' });
    expect((await limiter.charge('numbered', 1, 60)).allowed).toBe(false);
    await redis.acl('SETUSER', user, '+select');
    await waitFor(async () => (await limiter.charge('numbered', 1, 60)).allowed, { what: 'Redis' });
    expect(await redis.exists(`${prefix}:rate:{numbered}`)).toBe(0);
    limiter.close();
    await redis.acl('DELUSER', user);
  });

  test('is not taken for silent where this process was too busy to hear it', async () => {
    const faults: Error[] = [];
    const limiter = createRedisRateLimiter({
      redisUrl: url,
      prefix,
      onUnavailable: (error) => faults.push(error),
      timeoutMs: 1_000,
    });
    await waitFor(async () => (await limiter.charge('busy', 1, 60)).allowed, { what: 'Redis' });
    const before = faults.length;
    const decision = limiter.charge('busy', 1, 60);
    await Promise.resolve(); // connected already: the command has left
    blockEventLoop(1_200);
    expect(await decision).toEqual({ allowed: true });
    expect(faults).toHaveLength(before);
    limiter.close();
  });

  test('leaves no key behind when its window has ended', async () => {
    const limiter = createRedisRateLimiter({
      redisUrl: url,
      prefix,
      onUnavailable: fail,
      windowLengthMs: 50,
      timeoutMs: 10_000,
    });
    await limiter.charge('gone', 1, 60);
    await waitFor(async () => (await redis.exists(`${prefix}:rate:{gone}`)) === 0, {
      what: 'the key to expire',
    });
    limiter.close();
  });

  test('fails its check while the server accepts no writes', async () => {
    const user = `${prefix}-reader`;
    await redis.acl('SETUSER', user, 'on', '>secret', `~${prefix}:*`, '+@all', '-@write');
    const limiter = createRedisRateLimiter({
      redisUrl: Object.assign(new URL(url), { username: user, password: 'secret' }).href,
      prefix,
      onUnavailable: () => undefined,
      timeoutMs: 10_000,
    });
    expect((await limiter.charge('refused', 1, 60)).allowed).toBe(false); // it waits for the connection
    await expect(limiter.check()).rejects.toThrow(/can't run|NOPERM/);
    limiter.close();
    await redis.acl('DELUSER', user);
  });

  test('tries to connect often enough for the watch of Redis, however long Redis is away', () => {
    const connect = jest.spyOn(Redis.prototype, 'connect');
    const redisUrl = `redis://127.0.0.1:${CLOSED_PORT}`;
    createRedisRateLimiter({ redisUrl, prefix, onUnavailable: () => undefined }).close();
    const [client] = connect.mock.contexts as Redis[];
    connect.mockRestore();
    // `watchRedis` counts an error for 5 s. With longer pauses, an outage would seem to end between two.
    expect(client?.options.retryStrategy?.(1_000)).toBeLessThan(5_000);
  });

  test('refuses once it is closed', async () => {
    const faults: Error[] = [];
    const limiter = createRedisRateLimiter({
      redisUrl: url,
      prefix,
      onUnavailable: (error) => faults.push(error),
    });
    limiter.close();
    expect(await limiter.charge('closed', 1, 60)).toEqual({ allowed: false, why: 'limiter-unavailable' });
    expect(faults).toHaveLength(1);
  });
});
