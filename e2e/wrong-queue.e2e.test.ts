import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { startRedis } from '@postrider/embedded';
import type { RunningRedis } from '@postrider/embedded';
import { describeWithRedis, fetchMetrics, waitFor } from '@postrider/testing';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

describeWithRedis('a worker on another Redis than the relay', (redisUrl) => {
  let system: System;
  let other: RunningRedis;

  beforeEach(async () => {
    other = await startRedis();
    system = await startSystem({ redisUrl, env: { QUEUE_PREFIX: 'shared-prefix' } });
  });
  afterEach(async () => {
    await system.close();
    await other.stop();
  });

  test('makes the relay warn once, and shows in a gauge, until a worker shares the queue', async () => {
    const relay = await system.start('relay');
    const workers = async () => (await fetchMetrics(await relay.port())).find('postrider_queue_workers');
    const linesOf = (msg: string) => relay.log.filter((line) => line['msg'] === msg);
    await system.start('worker', { REDIS_URL: other.url });
    await waitFor(() => linesOf('no worker takes jobs from this queue').length > 0, {
      what: 'the warning',
      timeoutMs: 90_000,
    });
    const [line] = linesOf('no worker takes jobs from this queue');
    expect(line?.['queue']).toMatch(/^Redis \(prefix shared-prefix, id /);
    expect(line?.['queues_of_workers']).toEqual([
      expect.stringMatching(/^Redis \(prefix shared-prefix, id /),
    ]);
    expect(line?.['queues_of_workers']).not.toEqual([line?.['queue']]);
    expect(await workers()).toBe(0);

    await system.start('worker');
    await waitFor(async () => (await workers()) === 1, { what: 'the other worker' });
    expect(linesOf('workers take jobs from this queue again')).toHaveLength(1);
    expect(linesOf('no worker takes jobs from this queue')).toHaveLength(1);
  });
});
