import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { hang, waitFor } from '@postrider/testing';
import { arrivals, arrivedAtLeast, expectNoneLost, SHORT_LEASES, TIMEOUT_MS } from './short-leases.ts';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/* A crash may cost this much: nothing is lost, and an event arrives twice only where an attempt was in flight. */

let system: System;

afterEach(() => system.close());

describe('with the queue in Postgres', () => {
  beforeEach(async () => {
    system = await startSystem({ env: SHORT_LEASES });
  });

  test('a worker killed in mid-attempt: the attempt is made again by another, the rest once', async () => {
    system.receiver.script('/hook', [hang()]);
    await system.webhook('/hook');
    const [, doomed] = await system.startAll(['relay', 'worker']);
    const ids = await system.record(1);
    await arrivedAtLeast(system, 1);
    await doomed.kill();
    await system.start('worker');
    await system.drained(60_000);
    expectNoneLost(system, ids);
    expect(system.receiver.requests).toHaveLength(2);
    expect(await system.db.query('select attempt from attempts')).toEqual([{ attempt: 1 }]);
  });

  test(
    'connections to Postgres cut at random during the run: nothing is lost',
    async () => {
      await system.webhook('/hook');
      await system.startAll(['relay', 'worker']);
      const recording = system.record(300);
      let cuts = 0;
      await waitFor(
        async () => {
          const rows = await system.db.query(
            `select pg_terminate_backend(pid) from pg_stat_activity
           where datname = current_database() and application_name in ('postrider-relay', 'postrider-worker', 'postrider-queue')
           order by random() limit 2`,
          );
          cuts += rows.length;
          return cuts >= 30;
        },
        { what: 'the connections to be cut', intervalMs: 100 },
      );
      const ids = await recording;
      await system.drained(TIMEOUT_MS / 2);
      expectNoneLost(system, ids);
    },
    TIMEOUT_MS,
  );

  test('with two relays and two workers every event arrives once', async () => {
    await system.webhook('/hook');
    await system.startAll(['relay', 'relay', 'worker', 'worker']);
    const ids = await system.record(300);
    await system.drained(60_000);
    expect(arrivals(system).size).toBe(ids.length);
    expect(system.receiver.requests).toHaveLength(ids.length);
  });
});
