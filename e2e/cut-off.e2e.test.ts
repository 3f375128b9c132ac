import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { describeWithRedis, startFaultProxy, waitFor } from '@postrider/testing';
import type { FaultProxy, SystemProcess } from '@postrider/testing';
import { arrivals } from './arrivals.ts';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/** The leases outlast the test by far. So no lease that ends repairs a fault of a worker. */
const LONG_LEASES = { LEASE_SECONDS: '3600' };
const EVENTS = 40;

/* A process that loses one of its two servers must not harm those that reach both. */

describeWithRedis('one of two workers loses Postgres and keeps Redis', (redisUrl) => {
  let system: System;
  let proxy: FaultProxy;
  let other: SystemProcess;

  beforeAll(async () => {
    system = await startSystem({ redisUrl, env: LONG_LEASES });
    proxy = await startFaultProxy(system.db.url);
    [, other] = await system.startAll(['relay', 'worker']);
  });
  afterAll(async () => {
    await system.close();
    await proxy.close();
  });

  test('it fetches no jobs, so the other worker delivers all events; it fetches again when Postgres is back', async () => {
    await system.webhook('/hook');
    const cutOff = await system.start('worker', { DATABASE_URL: proxy.url(system.db.url) });
    const ready = async () => (await fetch(`http://127.0.0.1:${await cutOff.port()}/readyz`)).status === 200;
    await waitFor(ready, { what: 'the second worker to be ready' });
    proxy.takeAway();
    await waitFor(async () => !(await ready()), { what: 'the second worker to notice' });
    const ids: string[] = [];
    for (let n = 0; n < EVENTS; n += 1) {
      ids.push(...(await system.record(1)));
      await system.receiver.waitForRequests(n + 1, { withinMs: 60_000 });
    }
    expect([...arrivals(system).keys()].toSorted()).toEqual(ids.toSorted());
    proxy.restore();
    await waitFor(ready, { what: 'the second worker to be ready again' });
    await other.stop();
    await system.record(1);
    await system.receiver.waitForRequests(EVENTS + 1, { withinMs: 60_000 });
  }, 180_000);
});

describeWithRedis('the active one of two relays loses Redis and keeps Postgres', (redisUrl) => {
  let system: System;
  let proxy: FaultProxy;

  beforeAll(async () => {
    system = await startSystem({ redisUrl });
    proxy = await startFaultProxy(redisUrl);
  });
  afterAll(async () => {
    await system.close();
    await proxy.close();
  });

  test('the other relay becomes active and queues the next event', async () => {
    await system.webhook('/hook');
    const cutOff = await system.start('relay', { REDIS_URL: proxy.url(redisUrl) });
    await waitFor(() => isActive(cutOff), { what: 'the first relay to be active' });
    const other = await system.start('relay');
    await system.start('worker');
    await system.record(1);
    await system.receiver.waitForRequests(1, { withinMs: 60_000 });
    proxy.takeAway();
    await waitFor(() => isActive(other), { what: 'the second relay to be active' });
    await system.record(1);
    await system.receiver.waitForRequests(2, { withinMs: 60_000 });
    expect(await isActive(cutOff)).toBe(false);
  }, 180_000);

  async function isActive(relay: SystemProcess): Promise<boolean> {
    const page = await (await fetch(`http://127.0.0.1:${await relay.port()}/metrics`)).text();
    return /^postrider_relay_active(?:\{[^}]*\})? 1$/m.test(page);
  }
});
