import { afterEach, beforeEach, test } from '@jest/globals';
import { describeWithRedis, startRedisFailover, waitFor } from '@postrider/testing';
import type { RedisFailover } from '@postrider/testing';
import { jobs } from '../test/queue-under-test.ts';
import { setupRedisQueue } from '../test/setup-redis-queue.ts';

const on = setupRedisQueue();

describeWithRedis('a Redis that cannot write any more, its connections alive', () => {
  let servers: RedisFailover;

  beforeEach(async () => {
    servers = await startRedisFailover();
    on.open(servers.url);
    await on.takes('1');
  });
  afterEach(async () => {
    await on.queue.close();
    await servers.close();
  });

  /** Reads are answered, by a replica too. One job alone is added by another call than many. */
  async function untilItRefusesToAdd(count: number): Promise<void> {
    const refused = () =>
      on.queue.producer.addDeliveries('slow', jobs(count)).then(
        () => false,
        () => true,
      );
    await waitFor(refused, { what: 'adding to fail' });
  }

  test.each([
    ['demote', 1],
    ['demote', 3],
    ['loseReplicas', 1],
    ['failToSave', 3],
  ] as const)(
    'is given up by both sides for the one its address moved to (%s, %d at a time)',
    async (harm, count) => {
      await servers[harm]();
      await untilItRefusesToAdd(count);
      servers.move();
      await waitFor(() => on.queue.producer.addDeliveries('slow', jobs(count)).then(() => true), {
        what: 'adding to work',
      });
      await on.takes('2');
      await on.takes('3');
    },
  );

  test('is given up also while it loads its data, however long it does', async () => {
    await servers.demoteLoading();
    await untilItRefusesToAdd(1);
    await servers.reconnected();
    servers.move();
    await on.takes('2');
    await on.takes('3');
  });
});
