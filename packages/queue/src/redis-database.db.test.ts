import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { startRedis } from '@postrider/embedded';
import type { RunningRedis } from '@postrider/embedded';
import { describeWithRedis, waitFor } from '@postrider/testing';
import { Redis } from 'ioredis';
import { setupRedisQueue } from '../test/setup-redis-queue.ts';

const on = setupRedisQueue();
let redis: RunningRedis;
let admin: Redis;

beforeEach(async () => {
  redis = await startRedis({ args: ['--lua-time-limit', '1'] });
  admin = new Redis(redis.port);
  await admin.acl('SETUSER', 'app', 'on', '>secret', '~*', '&*', '+@all');
});
afterEach(async () => {
  admin.disconnect();
  await redis.stop();
});

function openInDatabase1(): void {
  on.open(`redis://app:secret@127.0.0.1:${redis.port}/1`);
}

/** Waits until `count` errors of SELECT have this word. A producer and a consumer have three clients. */
async function selectRefused(word: string, count = 3): Promise<void> {
  const refusals = () => on.queue.errors.filter(({ message }) => message.includes(word)).length;
  await waitFor(() => refusals() >= count, { what: `${count} refused SELECT` });
}

/** Waits until the consumer waits for a job in database 1. */
async function consumerWaits(): Promise<void> {
  const waiting = async () => /db=1 .*cmd=bzpopmin/.test(String(await admin.client('LIST')));
  await waitFor(waiting, { what: 'the consumer to wait in database 1' });
}

async function databasesInUse(): Promise<string[]> {
  return (await admin.info('keyspace')).match(/^db\d+/gm) ?? [];
}

describeWithRedis('a Redis that refuses SELECT', () => {
  test('from the start gets no job in database 0, and both sides begin when it does not', async () => {
    await admin.acl('SETUSER', 'app', '-select');
    openInDatabase1();
    await selectRefused('NOPERM');
    await on.refuses();
    await admin.acl('SETUSER', 'app', '+select');
    await on.takes('1');
    expect(await databasesInUse()).toEqual(['db1']);
  });

  test('at a reconnect gets no job in database 0, and both sides go on when it does not', async () => {
    openInDatabase1();
    await on.takes('1');
    await consumerWaits();
    await admin.acl('SETUSER', 'app', '-select');
    await admin.client('KILL', 'USER', 'app');
    await selectRefused('NOPERM');
    await on.refuses();
    await admin.acl('SETUSER', 'app', '+select');
    await consumerWaits();
    await on.takes('2');
    expect(await databasesInUse()).toEqual(['db1']);
  });

  test('because it runs a long script gets no job in database 0, and both sides begin afterwards', async () => {
    const script = admin.eval('while true do end', 0);
    const stopper = new Redis(redis.port, { enableReadyCheck: false });
    openInDatabase1();
    await selectRefused('BUSY');
    await stopper.script('KILL');
    stopper.disconnect();
    await expect(script).rejects.toThrow('killed');
    await on.takes('1');
    expect(await databasesInUse()).toEqual(['db1']);
  });
});
