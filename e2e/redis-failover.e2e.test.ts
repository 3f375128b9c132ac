import { afterEach, expect, test } from '@jest/globals';
import { startRedis } from '@postrider/embedded';
import {
  describeWithRedis,
  fetchMetrics,
  startRedisFailover,
  startFaultProxy,
  waitFor,
} from '@postrider/testing';
import type { SystemProcess } from '@postrider/testing';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/** A test adds what it opens. */
const opened: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close();
});

async function systemOn(redisUrl: string): Promise<System> {
  const system = await startSystem({
    redisUrl,
    // Jobs that only the old server has come back after a lease.
    env: { DELIVERY_TIMEOUT_MS: '2000', LEASE_SECONDS: '8' },
  });
  opened.push(system);
  return system;
}

async function statusOfList(system: System, api: SystemProcess): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${await api.port()}/v1/webhooks`, {
    headers: { authorization: `Bearer ${system.apiKey}` },
  });
  await response.arrayBuffer();
  return response.status;
}

describeWithRedis('a Redis that fails over behind its address', () => {
  test('and keeps all connections open: deliveries and the limiter go on without a restart', async () => {
    const servers = await startRedisFailover();
    opened.push(servers);
    const system = await systemOn(servers.url);
    await system.webhook('/hook');
    const [api] = await system.startAll(['api', 'relay', 'worker']);
    await system.record(5);
    await system.drained();
    await waitFor(async () => (await statusOfList(system, api)) === 200, { what: 'the API' });

    await servers.demote();
    await waitFor(async () => (await statusOfList(system, api)) === 429, { what: 'the limiter to refuse' });
    await system.record(5);
    await servers.reconnected();
    servers.move();
    await system.record(5);
    await system.drained();
    await waitFor(async () => (await statusOfList(system, api)) === 200, { what: 'the limiter to answer' });
    const arrived = new Set(system.receiver.requests.map(({ headers }) => headers['service-event-id']));
    expect(arrived.size).toBe(15);
    expect(system.processes.map(({ running }) => running)).toEqual([true, true, true]);
  }, 120_000);
});

describeWithRedis('a Redis that may evict jobs', () => {
  test('is reported by one JSON line and by a metric, at the start and at each reconnection', async () => {
    const [evicting, sound] = await Promise.all([
      startRedis({ args: ['--maxmemory-policy', 'allkeys-lru'] }),
      startRedis(),
    ]);
    const proxy = await startFaultProxy(evicting.url);
    opened.push({ close: () => evicting.stop() }, { close: () => sound.stop() }, proxy);
    const system = await systemOn(proxy.url(evicting.url));
    const [relay, worker] = await system.startAll(['relay', 'worker']);
    const warnings = () => relay.log.filter(({ maxmemory_policy: policy }) => policy === 'allkeys-lru');
    const gauge = async () => (await fetchMetrics(await relay.port())).read('postrider_redis_may_evict');
    const reconnect = (): void => {
      proxy.takeAway();
      proxy.restore();
    };

    await waitFor(() => warnings().length === 1, { what: 'the warning' });
    expect(warnings()[0]).toMatchObject({ level: 'warn', service: 'relay' });
    await waitFor(async () => (await gauge()) === 1, { what: 'the metric' });
    await system.webhook('/hook');
    await system.record(1);
    await system.drained();

    proxy.moveTo(sound.port);
    reconnect();
    await waitFor(async () => (await gauge()) === 0, { what: 'the metric to fall' });
    proxy.moveTo(evicting.port);
    reconnect();
    await waitFor(() => warnings().length === 2, { what: 'the second warning' });
    for (const { log, stderr } of [relay, worker]) {
      expect(stderr).toEqual([]);
      expect(log.filter((each) => 'unparsed' in each)).toEqual([]);
    }
  });
});
