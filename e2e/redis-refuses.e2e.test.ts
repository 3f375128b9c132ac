import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { startRedis } from '@postrider/embedded';
import type { RunningRedis } from '@postrider/embedded';
import { describeWithRedis, fetchMetrics, waitFor } from '@postrider/testing';
import { Redis } from 'ioredis';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

const OTHER_PASSWORD = 'not-the-password-of-this-server';

describeWithRedis('a Redis that refuses the password', () => {
  let redis: RunningRedis;
  let system: System;

  beforeEach(async () => {
    redis = await startRedis({ args: ['--requirepass', 'secret'] });
    system = await startSystem({ redisUrl: `redis://:${OTHER_PASSWORD}@127.0.0.1:${redis.port}` });
  });
  afterEach(async () => {
    await system.close();
    await redis.stop();
  });

  /** From now on Redis accepts the password of the processes. */
  async function accept(): Promise<void> {
    const client = new Redis({ port: redis.port, password: 'secret' });
    await client.config('SET', 'requirepass', OTHER_PASSWORD);
    client.disconnect();
  }

  test('lets no pass of the relay recover before it has done its work, and each failure is counted', async () => {
    await system.webhook('/hook');
    await system.record(1);
    const relay = await system.start('relay');
    const failures = async (pass: string) =>
      (await fetchMetrics(await relay.port())).find(`postrider_passes_failed_total{pass="${pass}"}`);
    await waitFor(async () => ((await failures('sweep')) ?? 0) >= 3, { what: 'three failed sweeps' });
    const told = (msg: string) =>
      relay.log.filter((line) => line['msg'] === msg && line['pass'] === 'sweep').length;
    expect([told('pass failed'), told('pass recovered')]).toEqual([1, 0]);

    await accept();
    await system.start('worker');
    await system.drained();
    await waitFor(() => told('pass recovered') === 1, { what: 'the sweep to recover' });
    expect(told('pass failed')).toBe(1);
  }, 60_000);
});
