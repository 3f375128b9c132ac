import { expect, test } from '@jest/globals';
import { startRedis } from '@postrider/embedded';
import { describeWithRedis } from '@postrider/testing';
import { openQueueIdentity } from './queue-identity.ts';

describeWithRedis('the identity of a queue on Redis', () => {
  test('is the same for every reader, and unknown while Redis is away', async () => {
    const redis = await startRedis();
    const [one, other] = [1, 2].map(() =>
      openQueueIdentity({ kind: 'redis', redisUrl: redis.url, prefix: 'test' }, () => undefined),
    );
    try {
      const identity = await one?.read();
      expect(identity).toEqual({ kind: 'redis', prefix: 'test', id: expect.any(String) });
      expect(await other?.read()).toEqual(identity);
      expect(one?.last()).toEqual(identity);
      await redis.stop();
      await expect(one?.read()).rejects.toThrow();
      expect(one?.last()).toEqual({ kind: 'redis', prefix: 'test', id: null });
    } finally {
      one?.close();
      other?.close();
    }
  });
});
