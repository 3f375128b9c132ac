import { afterEach, describe, expect, test } from '@jest/globals';
import { freePort, startRedis } from '@postrider/embedded';
import type { RunningRedis } from '@postrider/embedded';
import { CLOSED_PORT, describeWithRedis, startFaultProxy, waitFor } from '@postrider/testing';
import { Redis } from 'ioredis';
import { setupRedisQueue } from '../test/setup-redis-queue.ts';

const on = setupRedisQueue();
let redis: RunningRedis | null = null;

afterEach(async () => {
  await redis?.stop();
  redis = null;
});

async function openOnRedis(handle?: () => Promise<void>): Promise<RunningRedis> {
  redis = await startRedis();
  on.open(redis.url, handle);
  await on.takes('1');
  return redis;
}

/** A killed server's connections break a moment later. */
async function untilItRefuses(): Promise<void> {
  await waitFor(() => on.refuses().then(() => true), { what: 'calls to fail' });
}

async function command(port: number, ...words: [string, ...string[]]): Promise<void> {
  const client = new Redis(port);
  await client.call(...words);
  client.disconnect();
}

describeWithRedis('a Redis that', () => {
  test('is wiped while a job is in flight: the consumer goes on', async () => {
    const { promise: opened, resolve: release } = Promise.withResolvers<void>();
    const { port } = await openOnRedis(() => (on.seen.length > 1 ? opened : Promise.resolve()));
    await on.takes('2');
    await command(port, 'FLUSHALL');
    await on.takes('3');
    release();
    await on.takes('4');
  });

  test('forgets its scripts: no call fails', async () => {
    const { port } = await openOnRedis();
    for (const id of ['2', '3', '4']) {
      await command(port, 'SCRIPT', 'FLUSH');
      await on.takes(id);
    }
    expect(on.queue.errors).toEqual([]);
  });

  test('is killed and comes back empty: calls fail meanwhile, and both sides recover by themselves', async () => {
    const server = await openOnRedis();
    server.kill('SIGKILL');
    await untilItRefuses();
    await on.refuses();
    redis = await startRedis({ port: server.port });
    await on.takes('2');
  });

  test('hangs: calls fail within their time limit, and both sides continue when it does', async () => {
    const server = await openOnRedis();
    server.pause();
    await on.refuses();
    server.resume();
    await on.takes('2');
  });

  test('is behind silently dead connections: both sides replace them', async () => {
    redis = await startRedis();
    const line = await startFaultProxy(redis.url);
    try {
      on.open(line.url(redis.url));
      await on.takes('1');
      line.strand();
      await on.takes('2', 60_000);
    } finally {
      await on.queue.close();
      await line.close();
    }
  });

  test('hangs before the first call: the producer recovers', async () => {
    redis = await startRedis();
    const server = redis;
    on.open(server.url);
    await connectedClients(server.port, 3);
    server.pause();
    await on.refuses();
    server.resume();
    await on.takes('1');
  });

  test('is not up yet: calls fail at once, and both sides begin when it starts', async () => {
    const port = await freePort();
    on.open(`redis://127.0.0.1:${port}`);
    await on.refuses();
    redis = await startRedis({ port });
    await on.takes('1');
  });

  test('is killed, and a job in flight ends meanwhile: its consumer goes on afterwards', async () => {
    const { promise: opened, resolve: release } = Promise.withResolvers<void>();
    const server = await openOnRedis(() => (on.seen.length > 1 ? opened : Promise.resolve()));
    await on.takes('2');
    server.kill('SIGKILL');
    await untilItRefuses();
    release();
    redis = await startRedis({ port: server.port });
    await on.takes('3');
    await on.takes('4');
  });
});

describeWithRedis('a queue can be closed', () => {
  test('with Redis killed, when the last job ends', async () => {
    const { promise: opened, resolve: release } = Promise.withResolvers<void>();
    const server = await openOnRedis(() => (on.seen.length > 1 ? opened : Promise.resolve()));
    await on.takes('2');
    server.kill('SIGKILL');
    await untilItRefuses();
    const stopped = on.consumer.stop(20_000);
    release();
    await stopped;
    await on.queue.producer.close();
  });

  test('with Redis killed, at the deadline of a job that does not end', async () => {
    const { promise: opened, resolve: release } = Promise.withResolvers<void>();
    const server = await openOnRedis(() => (on.seen.length > 1 ? opened : Promise.resolve()));
    await on.takes('2');
    server.kill('SIGKILL');
    await on.consumer.stop(100);
    release();
  });

  test('with Redis hanging, when the last job ends', async () => {
    const { promise: opened, resolve: release } = Promise.withResolvers<void>();
    const server = await openOnRedis(() => (on.seen.length > 1 ? opened : Promise.resolve()));
    await on.takes('2');
    server.pause();
    const stopped = on.consumer.stop(20_000);
    release();
    await stopped;
  });

  test('with Redis hanging', async () => {
    const server = await openOnRedis();
    server.pause();
    await on.consumer.stop(1_000);
    await on.queue.producer.close();
  });
});

describe('without any Redis', () => {
  test('a queue that never was connected can be closed', async () => {
    on.open(`redis://127.0.0.1:${CLOSED_PORT}`);
    await on.refuses();
    await on.consumer.stop(1_000);
    await on.queue.producer.close();
    await on.refuses();
  });
});

/** Waits until `count` other clients are connected. */
async function connectedClients(port: number, count: number): Promise<void> {
  const client = new Redis(port);
  await waitFor(async () => ((await client.client('LIST')) as string).trim().split('\n').length > count, {
    what: `${count} clients`,
  });
  client.disconnect();
}
