import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import {
  after,
  answer,
  deliveryQueues,
  describeWithRedis,
  hang,
  untilWaitingForLock,
  waitFor,
  withClient,
} from '@postrider/testing';
import type { SystemProcess } from '@postrider/testing';
import { Redis } from 'ioredis';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/*
 * The relay leases eight deliveries of a webhook that has not answered yet. They are one job in the fast
 * lane. Leases are short here, so that healing takes seconds.
 */
const LEASES = { DELIVERY_TIMEOUT_MS: '10000', LEASE_SECONDS: '16' };
const EVENTS = 8;
const HEALED_WITHIN_MS = 60_000;

const QUEUE_PREFIX = `e2e-${randomBytes(4).toString('hex')}`;
const LANES = deliveryQueues(QUEUE_PREFIX);

let system: System;
let relay: SystemProcess;
let redis: Redis;

/** The number of deliveries in each job that waits in a lane. */
async function waitingJobs(): Promise<number[]> {
  const ids = await Promise.all(LANES.map((lane) => redis.lrange(`${lane}:wait`, 0, -1)));
  return ids.flat().map((id) => id.split('.').length);
}

/** The keys of the jobs that a worker has fetched and not ended. */
async function fetchedJobs(): Promise<string[]> {
  const active = LANES.map(async (lane) =>
    (await redis.lrange(`${lane}:active`, 0, -1)).map((id) => `${lane}:${id}`),
  );
  return (await Promise.all(active)).flat();
}

/**
 * Freezes the relay while the events are recorded. So it queues all deliveries at once. No worker runs yet.
 * @returns the ids of the events
 */
async function recordAndQueue(): Promise<string[]> {
  relay.signal('SIGSTOP');
  await system.webhook('/hook');
  const ids = await system.record(EVENTS);
  relay.signal('SIGCONT');
  await waitFor(async () => (await waitingJobs()).length > 0, { what: 'a job to wait' });
  expect(await waitingJobs()).toEqual([EVENTS]);
  return ids;
}

/** How often each event arrived. */
function arrivals(ids: readonly string[]): number[] {
  const arrived = system.receiver.requests.map(({ headers }) => headers['service-event-id']);
  expect(new Set(arrived)).toEqual(new Set(ids));
  return ids.map((id) => arrived.filter((each) => each === id).length);
}

async function expectFirstAttempts(): Promise<void> {
  const attempts = await system.db.query('select attempt, status from attempts');
  expect(attempts).toEqual(Array.from({ length: EVENTS }, () => ({ attempt: 1, status: 200 })));
}

describeWithRedis('a job of several deliveries', (redisUrl) => {
  beforeAll(async () => {
    redis = new Redis(redisUrl);
    system = await startSystem({ redisUrl, env: { ...LEASES, QUEUE_PREFIX } });
    relay = await system.start('relay');
  });
  afterAll(async () => {
    redis.disconnect();
    await system.close();
  });
  afterEach(async () => {
    await system.reset();
    const workers = system.processes.filter(({ name, running }) => name === 'worker' && running);
    await Promise.all(workers.map((worker) => worker.stop()));
  });

  test('has its deliveries attempted at the same time: all requests arrive before one is answered', async () => {
    const { promise: opened, resolve: open } = Promise.withResolvers<void>();
    system.receiver.always('/hook', after(opened, answer(200)));
    const ids = await recordAndQueue();
    await system.start('worker');
    await system.receiver.waitForRequests(EVENTS);
    open();
    await system.drained();
    expect(arrivals(ids)).toEqual(ids.map(() => 1));
    await expectFirstAttempts();
  });

  test('when a worker dies during its attempts, each delivery without a recorded outcome is attempted once more after its lease', async () => {
    const answered = 3;
    system.receiver.script('/hook', [
      ...Array.from({ length: answered }, () => answer(200)),
      ...Array.from({ length: EVENTS - answered }, () => hang()),
    ]);
    const ids = await recordAndQueue();
    relay.signal('SIGSTOP'); // no row is leased again before another worker has got the old jobs
    const doomed = await system.start('worker');
    await system.receiver.waitForRequests(EVENTS);
    await waitFor(async () => (await system.outstanding()) === EVENTS - answered, { what: 'three to end' });
    await doomed.kill();
    const left = await fetchedJobs();
    expect(left).not.toEqual([]);
    await system.start('worker');
    await waitFor(async () => (await redis.exists(left)) === 0, {
      what: 'the second worker to end the jobs of the dead one',
      timeoutMs: HEALED_WITHIN_MS,
    });
    expect(system.receiver.requests).toHaveLength(EVENTS); // the fencing tokens of the old jobs are old
    relay.signal('SIGCONT');
    await system.drained(HEALED_WITHIN_MS);
    const twice = arrivals(ids).filter((times) => times === 2);
    expect([twice.length, system.receiver.requests.length]).toEqual([
      EVENTS - answered,
      2 * EVENTS - answered,
    ]);
    await expectFirstAttempts();
  });

  test('when a worker dies before it takes the rows, another worker attempts each delivery once', async () => {
    const ids = await recordAndQueue();
    await withClient(system.db.url, async (session) => {
      await session.query('begin; select from deliveries for update');
      const doomed = await system.start('worker');
      await waitFor(async () => (await waitingJobs()).length === 0, { what: 'the jobs to be fetched' });
      await untilWaitingForLock(system.db);
      await doomed.kill();
      // Postgres notices a dead client only when its statement ends. By then the statement would have taken
      // the rows.
      await session.query(
        `select pg_terminate_backend(pid, 5000) from pg_stat_activity
         where datname = current_database() and application_name = 'postrider-worker'`,
      );
      await session.query('rollback');
    });
    await system.start('worker');
    await system.drained(HEALED_WITHIN_MS);
    expect(arrivals(ids)).toEqual(ids.map(() => 1));
    await expectFirstAttempts();
  });
});
