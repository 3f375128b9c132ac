import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { startRedis } from '@postrider/embedded';
import type { RunningRedis } from '@postrider/embedded';
import { answer, describeWithRedis, runs, takingMs } from '@postrider/testing';
import { Redis } from 'ioredis';
import { EVENTS, expectNoneLost, TIMEOUT_MS, untilArrived } from './arrivals.ts';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/** Short, so that healing takes seconds. Nothing else differs from production. */
const SHORT_LEASES = { DELIVERY_TIMEOUT_MS: '2000', LEASE_SECONDS: '8' };
const WIPES_MAX = runs({ usual: 6, long: 60 });
const EVENTS_PER_WIPE = runs({ usual: 30, long: 60 });
/** Events before Redis is killed, and while it is away. */
const EVENTS_PER_KILL = runs({ usual: 100, long: 200 });

describeWithRedis('with the queue in Redis', () => {
  let system: System;
  let redis: RunningRedis;

  beforeAll(async () => {
    redis = await startRedis();
    system = await startSystem({ redisUrl: redis.url, env: SHORT_LEASES });
    await system.startAll(['relay', 'worker']);
  });
  afterAll(async () => {
    await system.close();
    await redis.stop();
  });
  afterEach(() => system.reset());

  test(
    'nothing is lost when Redis is wiped again and again while deliveries are in flight',
    async () => {
      system.receiver.always('/hook', takingMs(20, answer(200)));
      await system.webhook('/hook');
      const client = new Redis(redis.url);
      let wipes = 0;
      let recorded = false;
      const wipe = async () => {
        while (!recorded || (await system.outstanding()) > 0) {
          await untilArrived(system, Math.min(EVENTS, EVENTS_PER_WIPE * (wipes + 1)));
          await client.flushall();
          wipes += 1;
          if (wipes >= WIPES_MAX) return;
        }
      };
      const wiping = wipe();
      const ids = await system.record(EVENTS);
      recorded = true;
      await wiping;
      client.disconnect();
      await system.drained(TIMEOUT_MS / 2);
      expectNoneLost(system, ids);
      expect(wipes).toBeGreaterThan(3);
    },
    TIMEOUT_MS,
  );

  test(
    'nothing is lost when Redis is killed and comes back empty',
    async () => {
      await system.webhook('/hook');
      const ids = await system.record(EVENTS_PER_KILL);
      await untilArrived(system, EVENTS_PER_KILL / 4);
      const port = redis.port;
      redis.kill('SIGKILL');
      ids.push(...(await system.record(EVENTS_PER_KILL))); // a cause does not wait for Redis
      redis = await startRedis({ port });
      await system.drained(TIMEOUT_MS / 2);
      expectNoneLost(system, ids);
    },
    TIMEOUT_MS,
  );
});
