import { randomBytes } from 'node:crypto';
import { describeWithRedis } from '@postrider/testing';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { queueConformance } from '../test/conformance.ts';

describeWithRedis('the queue on Redis', (redisUrl) => {
  queueConformance(async () => {
    const prefix = `test-${randomBytes(6).toString('hex')}`;
    const redis = new Redis(redisUrl, { maxRetriesPerRequest: null });
    return {
      location: { kind: 'redis', redisUrl, prefix },
      async addForeign(queueName, jobId, data) {
        const queue = new Queue(queueName, { connection: redis, prefix: `{${prefix}}` });
        await queue.add('foreign', data, { jobId });
        await queue.close();
      },
      async close() {
        await redis.quit();
      },
    };
  });
});
