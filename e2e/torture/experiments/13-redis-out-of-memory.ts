import { setTimeout as delay } from 'node:timers/promises';
import { numberInInfo } from '@postrider/testing';
import type { Experiment } from '../harness/experiment.ts';
import { usedMemoryBytes } from '../harness/servers/redis.ts';
import { underLoad } from './under-load.ts';

const FULL_MS = 8_000;
const EVICTING_MS = 8_000;
const BALLAST_KEYS = 200;
const BALLAST_BYTES = 20_000;

export const redisOutOfMemory: Experiment = {
  number: 13,
  title: 'Redis reaches maxmemory; then it evicts jobs, by a policy set by mistake',
  shows: 'the relay releases deliveries that it cannot queue; evicted jobs heal when their lease ends',
  runs: 'long',
  async run(world) {
    const load = await underLoad(world);
    await world.fault('maxmemory reached', { mayRepeat: false }, async () => {
      await world.redis.command('config', 'set', 'maxmemory', await usedMemoryBytes(world.redis));
    });
    await delay(world.scaled(FULL_MS));
    const errors = String(await world.redis.command('info', 'errorstats'));
    const [, refused = '0'] = /^errorstat_OOM:count=(\d+)/m.exec(errors) ?? [];
    world.claim('Redis refused writes', Number(refused) > 0, `${refused} times`);
    await world.fault('jobs are evicted', { mayRepeat: false }, async () => {
      // A part of the ballast fits. With nothing left to evict, Redis would refuse every write.
      const limit = (await usedMemoryBytes(world.redis)) + (BALLAST_KEYS * BALLAST_BYTES) / 2;
      await world.redis.command('config', 'set', 'maxmemory', limit);
      await world.redis.command('config', 'set', 'maxmemory-policy', 'allkeys-random');
      for (let key = 0; key < BALLAST_KEYS; key += 1) {
        await world.redis.command('set', `ballast:${key}`, 'x'.repeat(BALLAST_BYTES));
      }
    });
    await delay(world.scaled(EVICTING_MS));
    const evicted = numberInInfo(await world.redis.command('info', 'stats'), 'evicted_keys');
    world.claim('Redis evicted keys', evicted > 0, String(evicted));
    await world.redis.command('config', 'set', 'maxmemory', 0);
    await world.redis.command('config', 'set', 'maxmemory-policy', 'noeviction');
    world.healed();
    await load.stop();
  },
};
