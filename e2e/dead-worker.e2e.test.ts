import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { after, answer, describeWithRedis, hang } from '@postrider/testing';
import type { SystemProcess } from '@postrider/testing';
import { arrivals, expectNoneLost } from './arrivals.ts';
import { startSystem } from './start-system.ts';
import type { System, SystemOptions } from './start-system.ts';

/** The leases outlast the test by far. So no lease that ends brings a delivery back. */
const LONG_LEASES = { DELIVERY_TIMEOUT_MS: '600000', LEASE_SECONDS: '3600' };
/** The paths of the webhooks of the first test. Each of them gets every event. */
const HOOKS = ['/one', '/two', '/three'];
const DELIVERIES = 30;

let system: System;

/** How often each event arrived at each path. */
function arrivalsByHook(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { path, headers } of system.receiver.requests) {
    const delivery = `${path} ${String(headers['service-event-id'])}`;
    counts.set(delivery, (counts.get(delivery) ?? 0) + 1);
  }
  return counts;
}

function deadWorkerTests(options: SystemOptions): void {
  /** The one worker that runs at the beginning of each test. */
  let worker: SystemProcess;

  beforeAll(async () => {
    system = await startSystem({ ...options, env: LONG_LEASES });
    [, worker] = await system.startAll(['relay', 'worker']);
  });
  afterAll(() => system.close());
  afterEach(() => system.reset());

  test('the deliveries that a killed worker had in flight are attempted again before their leases end', async () => {
    for (const path of HOOKS) {
      system.receiver.always(path, hang());
      await system.webhook(path);
    }
    const ids = await system.record(DELIVERIES / HOOKS.length);
    await system.receiver.waitForRequests(2);
    await worker.kill();
    const inFlight = [...arrivalsByHook().keys()];
    for (const path of HOOKS) system.receiver.always(path, answer(200));
    worker = await system.start('worker');
    await system.drained();
    expectNoneLost(system, ids);
    const seen = arrivalsByHook();
    expect(seen.size).toBe(DELIVERIES);
    expect(inFlight.filter((delivery) => seen.get(delivery) !== 2)).toEqual([]);
    const attempts = await system.db.query('select from attempts where attempt > 1');
    expect(attempts).toEqual([]);
  });

  test('the deliveries that a living worker has in flight are left alone when another worker is killed', async () => {
    const { promise: opened, resolve: open } = Promise.withResolvers<void>();
    system.receiver.always('/hook', after(opened, answer(200)));
    await system.webhook('/hook');
    const [first = ''] = await system.record(1);
    await system.receiver.waitForRequests(1);
    const victim = await system.start('worker');
    worker.signal('SIGSTOP'); // so the victim gets the other jobs, and this worker lives but is silent
    const others = await system.record(5);
    await system.receiver.waitForRequests(6);
    await victim.kill();
    system.receiver.always('/hook', answer(200));
    await system.start('worker');
    await system.receiver.waitForRequests(11);
    const expectAttempts = () => {
      const seen = arrivals(system);
      expect([first, ...others].map((id) => seen.get(id))).toEqual([1, 2, 2, 2, 2, 2]);
    };
    expectAttempts();
    worker.signal('SIGCONT');
    open();
    await system.drained();
    expectAttempts();
  });
}

describe('with the queue in Postgres', () => deadWorkerTests({}));
describeWithRedis('with the queue in Redis', (redisUrl) => deadWorkerTests({ redisUrl }));
