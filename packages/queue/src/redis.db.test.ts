import { randomBytes } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { describeWithRedis, waitFor } from '@postrider/testing';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { queueConformance } from '../test/conformance.ts';
import { jobs, openQueue } from '../test/queue-under-test.ts';
import { QUEUES } from './jobs.ts';

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

describeWithRedis('the events of a queue on Redis', (redisUrl) => {
  test('are few: nobody reads them', async () => {
    const prefix = `test-${randomBytes(6).toString('hex')}`;
    const queue = openQueue({ kind: 'redis', redisUrl, prefix });
    const redis = new Redis(redisUrl);
    try {
      await waitFor(() => queue.producer.depth(), { what: 'the queue to be connected' });
      await queue.producer.addDeliveries('slow', jobs(1_000, { delayMs: 3_600_000 })); // two events each
      expect(await redis.xlen(`{${prefix}}:${QUEUES.slow.name}:events`)).toBeLessThan(300);
    } finally {
      redis.disconnect();
      await queue.close();
    }
  });
});
