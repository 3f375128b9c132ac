import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { freePort, startRedis } from '@postrider/embedded';
import type { RunningRedis } from '@postrider/embedded';
import { describeWithRedis, startRedisFailover, startFaultProxy, waitFor } from '@postrider/testing';
import type { RedisFailover } from '@postrider/testing';
import { Redis } from 'ioredis';
import { gate, jobs, openQueue } from '../test/queue-under-test.ts';
import type { QueueUnderTest } from '../test/queue-under-test.ts';
import { QueueUnavailableError } from './index.ts';
import type { Consumer } from './index.ts';

let redis: RunningRedis | null = null;
let queue: QueueUnderTest;
let consumer: Consumer;
let seen: string[];

afterEach(async () => {
  await queue.close();
  await redis?.stop();
  redis = null;
});

/** A queue with one consumer of two slots, whether or not Redis is up. */
function open(port: number, handle: () => Promise<void> = async () => undefined): void {
  seen = [];
  queue = openQueue({ kind: 'redis', redisUrl: `redis://127.0.0.1:${port}`, prefix: 'faults' });
  consumer = queue.consume(
    async (job) => {
      seen.push(job.deliveryId);
      await handle();
    },
    { concurrency: 2 },
  );
}

async function openOnRedis(handle?: () => Promise<void>): Promise<RunningRedis> {
  redis = await startRedis();
  open(redis.port, handle);
  await takes('1');
  return redis;
}

/** Puts a job into the queue until it is taken, and waits until it arrives, however often that needs. */
async function takes(deliveryId: string, timeoutMs = 10_000): Promise<void> {
  const job = { deliveryId, claim: 0, delayMs: 0 };
  await waitFor(
    async () => {
      await queue.producer.addDeliveries('fast', [job]);
      return true;
    },
    { what: 'the queue to take a job', timeoutMs },
  );
  await waitFor(() => seen.includes(deliveryId), { what: `job ${deliveryId} to arrive`, timeoutMs });
}

async function refuses(): Promise<void> {
  await expect(queue.producer.addDeliveries('fast', jobs(3))).rejects.toBeInstanceOf(QueueUnavailableError);
  await expect(queue.producer.depth()).rejects.toBeInstanceOf(QueueUnavailableError);
}

/** A killed server's connections break a moment later. */
async function untilItRefuses(): Promise<void> {
  await waitFor(() => refuses().then(() => true), { what: 'calls to fail' });
}

async function command(port: number, ...words: [string, ...string[]]): Promise<void> {
  const client = new Redis(port);
  await client.call(...words);
  client.disconnect();
}

describeWithRedis('a Redis that', () => {
  test('is wiped while a job is in hand: the consumer goes on', async () => {
    const { opened, open: letGo } = gate();
    const { port } = await openOnRedis(() => (seen.length > 1 ? opened : Promise.resolve()));
    await takes('2');
    await command(port, 'FLUSHALL');
    await takes('3');
    letGo();
    await takes('4');
  });

  test('forgets its scripts: nothing is noticed', async () => {
    const { port } = await openOnRedis();
    for (const id of ['2', '3', '4']) {
      await command(port, 'SCRIPT', 'FLUSH');
      await takes(id);
    }
    expect(queue.errors).toEqual([]);
  });

  test('is killed and comes back empty: calls fail meanwhile, and both sides find back by themselves', async () => {
    const server = await openOnRedis();
    server.kill('SIGKILL');
    await untilItRefuses();
    await refuses();
    redis = await startRedis({ port: server.port });
    await takes('2');
  });

  test('hangs: calls fail within their time limit, and both sides go on when it does', async () => {
    const server = await openOnRedis();
    server.pause();
    await refuses();
    server.resume();
    await takes('2');
  });

  test('is behind connections that died without a word: both sides give them up and make new ones', async () => {
    redis = await startRedis();
    const line = await startFaultProxy(redis.url);
    try {
      open(line.port);
      await takes('1');
      line.strand();
      await takes('2', 60_000);
    } finally {
      await queue.close();
      await line.close();
    }
  }, 120_000);

  test('hangs before the first call: the producer recovers all the same', async () => {
    redis = await startRedis();
    const server = redis;
    open(server.port);
    await connectedClients(server.port, 3);
    server.pause();
    await refuses();
    server.resume();
    await takes('1');
  });

  test('is not up yet: calls fail at once, and both sides begin when it comes', async () => {
    const port = await freePort();
    open(port);
    await refuses();
    redis = await startRedis({ port });
    await takes('1');
  });

  test('is not up, and a job in hand ends meanwhile: its consumer goes on afterwards', async () => {
    const { opened, open: letGo } = gate();
    const server = await openOnRedis(() => (seen.length > 1 ? opened : Promise.resolve()));
    await takes('2');
    server.kill('SIGKILL');
    await untilItRefuses();
    letGo();
    redis = await startRedis({ port: server.port });
    await takes('3');
    await takes('4');
  });
});

describeWithRedis('a Redis that is no primary any more, its connections alive', () => {
  let servers: RedisFailover;

  beforeEach(async () => {
    servers = await startRedisFailover();
    open(Number(new URL(servers.url).port));
    await takes('1');
  });
  afterEach(async () => {
    await queue.close();
    await servers.close();
  });

  /** Reads are answered, by a replica too. One job alone is added by another call than many. */
  async function untilItRefusesToAdd(count: number): Promise<void> {
    const refused = () =>
      queue.producer.addDeliveries('slow', jobs(count)).then(
        () => false,
        () => true,
      );
    await waitFor(refused, { what: 'adding to fail' });
  }

  test.each([1, 3])(
    'is given up by both sides for the one its address moved to (%d at a time)',
    async (count) => {
      await servers.demote();
      await untilItRefusesToAdd(count);
      servers.move();
      await waitFor(() => queue.producer.addDeliveries('slow', jobs(count)).then(() => true), {
        what: 'adding to work',
      });
      await takes('2');
      await takes('3');
    },
  );

  test('is given up also while it loads its data, however long it does', async () => {
    await servers.demoteLoading();
    await untilItRefusesToAdd(1);
    await servers.reconnected();
    servers.move();
    await takes('2');
    await takes('3');
  });
});

describeWithRedis('a queue can be closed', () => {
  test('with Redis killed, when the last job ends', async () => {
    const { opened, open: letGo } = gate();
    const server = await openOnRedis(() => (seen.length > 1 ? opened : Promise.resolve()));
    await takes('2');
    server.kill('SIGKILL');
    await untilItRefuses();
    const stopped = consumer.stop(20_000);
    letGo();
    await stopped;
    await queue.producer.close();
  });

  test('with Redis killed, at the deadline of a job that does not end', async () => {
    const { opened, open: letGo } = gate();
    const server = await openOnRedis(() => (seen.length > 1 ? opened : Promise.resolve()));
    await takes('2');
    server.kill('SIGKILL');
    await consumer.stop(100);
    letGo();
  });

  test('with Redis hanging', async () => {
    const server = await openOnRedis();
    server.pause();
    await consumer.stop(1_000);
    await queue.producer.close();
  });
});

describe('without any Redis', () => {
  test('a queue can be closed that never was connected', async () => {
    open(await freePort());
    await refuses();
    await consumer.stop(1_000);
    await queue.producer.close();
    await refuses();
  });
});

/** Waits until so many clients are connected, beside the one that asks. */
async function connectedClients(port: number, count: number): Promise<void> {
  const client = new Redis(port);
  await waitFor(async () => ((await client.client('LIST')) as string).trim().split('\n').length > count, {
    what: `${count} clients`,
  });
  client.disconnect();
}
