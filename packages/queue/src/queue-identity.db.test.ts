import { expect, test } from '@jest/globals';
import { startRedis } from '@postrider/embedded';
import { describeWithRedis } from '@postrider/testing';
import { Redis } from 'ioredis';
import { openQueueIdentity } from './queue-identity.ts';

describeWithRedis('a Redis at its memory limit', () => {
  test('still says which queue it has, and a search for the id makes none', async () => {
    const redis = await startRedis();
    const client = new Redis(redis.port);
    const location = { kind: 'redis', redisUrl: redis.url, prefix: 'p' } as const;
    const identity = openQueueIdentity(location, () => undefined);
    expect(await identity.find()).toEqual({ kind: 'redis', prefix: 'p', id: 'none' });
    expect(await client.keys('*')).toEqual([]);
    const made = await identity.read();
    await client.config('SET', 'maxmemory', '1');
    await expect(identity.read()).rejects.toThrow('OOM');
    expect(await identity.find()).toEqual(made);
    identity.close();
    client.disconnect();
    await redis.stop();
  });
});
