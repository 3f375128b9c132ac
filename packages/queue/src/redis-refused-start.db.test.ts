import { beforeEach, expect, test } from '@jest/globals';
import { startRedis } from '@postrider/embedded';
import type { RunningRedis } from '@postrider/embedded';
import { cleanUpAfterEach, describeWithRedis, waitFor } from '@postrider/testing';
import { Redis } from 'ioredis';
import { jobs, openQueue, reaches } from '../test/queue-under-test.ts';
import { Producer } from './index.ts';
import type { QueueLocation } from './index.ts';

const atEnd = cleanUpAfterEach();
let redis: RunningRedis;
let admin: Redis;
let location: QueueLocation;

/** A start fails while the user may not run INFO. */
beforeEach(async () => {
  redis = await startRedis();
  atEnd(() => redis.stop());
  admin = new Redis(redis.port);
  atEnd(() => admin.disconnect());
  await admin.acl('SETUSER', 'app', 'on', '>secret', '~*', '&*', '+@all', '-info');
  location = { kind: 'redis', redisUrl: `redis://app:secret@127.0.0.1:${redis.port}`, prefix: 'refused' };
});

describeWithRedis('failed starts', () => {
  test('of a consumer leave no clients behind', async () => {
    const queue = openQueue(location);
    atEnd(() => queue.close());
    const seen = queue.noting();
    await waitFor(async () => (await refusedCommands()) >= 6, { what: 'several starts to fail' });
    await admin.acl('SETUSER', 'app', '+info');
    await untilAdded(queue.producer);
    await reaches(seen, 1);
    // The producer has one client, and the consumer has two.
    await waitFor(async () => (await clients()) <= 3, { what: 'three clients', timeoutMs: 10_000 });
  });

  test('of a producer leave no queues that report its errors again', async () => {
    const errors: Error[] = [];
    const producer = new Producer(location, (error) => errors.push(error));
    atEnd(() => producer.close());
    const fails = () =>
      expect(producer.depth())
        .rejects.toThrow('NOPERM')
        .then(() => true);
    for (let starts = 0; starts < 3; starts += 1) await waitFor(fails, { what: 'a start to fail' });
    admin.disconnect();
    await redis.stop();
    const lost = () => errors.filter(({ message }) => message.includes('ECONNREFUSED'));
    await waitFor(() => lost().length > 0, { what: 'the lost connection to be reported' });
    expect(lost()).toHaveLength(new Set(lost()).size);
  });
});

/** Adds a job, again and again, until the queue accepts it. */
async function untilAdded(producer: Producer): Promise<void> {
  const add = () => producer.addDeliveries('fast', jobs(1));
  await waitFor(() => add().then(() => true), { what: 'the queue to accept a job' });
}

async function refusedCommands(): Promise<number> {
  const [, count = '0'] = /cmdstat_info:.*rejected_calls=(\d+)/.exec(await admin.info('commandstats')) ?? [];
  return Number(count);
}

async function clients(): Promise<number> {
  return String(await admin.client('LIST')).match(/ user=app /g)?.length ?? 0;
}
