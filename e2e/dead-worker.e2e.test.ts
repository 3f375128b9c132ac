import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { after, answer, describeWithRedis, hang } from '@postrider/testing';
import type { SystemProcess } from '@postrider/testing';
import { arrivals, expectNoneLost } from './arrivals.ts';
import { startSystem } from './start-system.ts';
import type { System, SystemOptions } from './start-system.ts';

/** The leases outlast the test by far. So no lease that ends brings a delivery back. */
const LONG_LEASES = { DELIVERY_TIMEOUT_MS: '600000', LEASE_SECONDS: '3600' };
const EVENTS = 30;

let system: System;

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
    system.receiver.always('/hook', hang());
    for (let webhooks = 0; webhooks < 3; webhooks += 1) await system.webhook('/hook');
    const ids = await system.record(EVENTS / 3);
    await system.receiver.waitForRequests(2);
    await worker.kill();
    const inFlight = [...arrivals(system).keys()];
    system.receiver.always('/hook', answer(200));
    worker = await system.start('worker');
    await system.drained();
    expectNoneLost(system, ids);
    const seen = arrivals(system);
    expect(inFlight.filter((id) => (seen.get(id) ?? 0) < 2)).toEqual([]);
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
