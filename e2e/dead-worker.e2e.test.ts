import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { answer, describeWithRedis, hang } from '@postrider/testing';
import { arrivals, expectNoneLost } from './short-leases.ts';
import { startSystem } from './start-system.ts';
import type { System, SystemOptions } from './start-system.ts';

/** The leases outlast the test by far. So it is not the end of a lease that brings a delivery back. */
const LONG_LEASES = { DELIVERY_TIMEOUT_MS: '600000', LEASE_SECONDS: '3600' };
const EVENTS = 30;

let system: System;

function withQueue(options: () => SystemOptions): void {
  beforeEach(async () => {
    system = await startSystem({ ...options(), env: LONG_LEASES });
  });
  afterEach(() => system.close());

  test('what a killed worker had in flight is attempted again, though its leases still run', async () => {
    system.receiver.always('/hook', hang());
    for (let webhooks = 0; webhooks < 3; webhooks += 1) await system.webhook('/hook');
    const [, victim] = await system.startAll(['relay', 'worker']);
    const ids = await system.record(EVENTS / 3);
    await system.receiver.waitForRequests(2);
    await victim.kill();
    const inFlight = [...arrivals(system).keys()];
    system.receiver.always('/hook', answer(200));
    await system.start('worker');
    await system.drained();
    expectNoneLost(system, ids);
    const seen = arrivals(system);
    expect(inFlight.filter((id) => (seen.get(id) ?? 0) < 2)).toEqual([]);
    const attempts = await system.db.query('select from attempts where attempt > 1');
    expect(attempts).toEqual([]);
  });

  test('what a living worker has in flight is left alone when another is killed', async () => {
    system.receiver.always('/hook', hang());
    await system.webhook('/hook');
    const [, living] = await system.startAll(['relay', 'worker']);
    const [first = ''] = await system.record(1);
    await system.receiver.waitForRequests(1);
    const victim = await system.start('worker');
    living.signal('SIGSTOP'); // the victim gets the other jobs, and the living one is silent
    const others = await system.record(5);
    await system.receiver.waitForRequests(6);
    await victim.kill();
    system.receiver.always('/hook', answer(200));
    await system.start('worker');
    await system.receiver.waitForRequests(11);
    const seen = arrivals(system);
    expect([first, ...others].map((id) => seen.get(id))).toEqual([1, 2, 2, 2, 2, 2]);
    living.signal('SIGCONT');
  });
}

describe('with the queue in Postgres', () => withQueue(() => ({})));
describeWithRedis('with the queue in Redis', (redisUrl) => withQueue(() => ({ redisUrl })));
