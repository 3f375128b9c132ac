import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { describeWithRedis, runs, waitFor } from '@postrider/testing';
import type { ReceivedRequest } from '@postrider/testing';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

let system: System;

afterEach(() => system.close());

/** Deliveries of each burst that measures what this machine can do. */
const BURST = runs({ usual: 300, long: 750 });
/** Shares of that rate: together a quarter, so that a machine that gets busier still catches up. */
const BUSY_SHARE = 0.2;
const NEIGHBOUR_SHARE = 0.06;
const FROZEN_MS = 2_000;
/** The pause between two inserts of events. */
const STEP_MS = 50;
/** A webhook is on time when each of its last arrivals came within this time after its event was recorded. */
const ON_TIME_MS = 500;
const ON_TIME_ARRIVALS = 100;

describeWithRedis('with a worker that has spare capacity', (redisUrl) => {
  test('after the worker was frozen, a busy webhook and its neighbour are on time again', async () => {
    system = await startSystem({ redisUrl });
    await system.webhook('/busy', ['email.sent']);
    await system.webhook('/neighbour', ['email.failed']);
    const [, worker] = await system.startAll(['relay', 'worker']);
    await measureDrain(BURST); // warms up: V8 compiles the hot code of fresh processes
    const perSecond = Math.min(await measureDrain(BURST), await measureDrain(BURST));
    const traffic = startTraffic([
      { path: '/busy', perSecond: perSecond * BUSY_SHARE },
      { path: '/neighbour', perSecond: perSecond * NEIGHBOUR_SHARE },
    ]);
    try {
      await untilOnTime('/busy');
      worker.signal('SIGSTOP');
      await delay(FROZEN_MS);
      worker.signal('SIGCONT');
      await untilLate('/busy');
      await untilOnTime('/busy');
      await untilOnTime('/neighbour');
    } finally {
      await traffic.stop();
    }
    await system.drained();
    const failed = await system.db.query(
      'select distinct status, error from attempts where status is distinct from 200',
    );
    expect(failed).toEqual([]);
  }, 180_000);
});

/** Delivers a burst to the busy webhook. @returns its deliveries per second */
async function measureDrain(count: number): Promise<number> {
  const before = arrivals('/busy').length;
  const begunMs = performance.now();
  await record('/busy', count);
  await system.receiver.waitForRequests(before + count, { path: '/busy', withinMs: 60_000 });
  await system.drained();
  return (count * 1000) / (performance.now() - begunMs);
}

/** Records events at steady rates until it is stopped. */
function startTraffic(streams: readonly { readonly path: string; readonly perSecond: number }[]) {
  const stopped = new AbortController();
  const begunMs = performance.now();
  const recorded = new Map<string, number>();
  const running = (async () => {
    while (!stopped.signal.aborted) {
      for (const { path, perSecond } of streams) {
        const wanted = Math.floor(((performance.now() - begunMs) / 1000) * perSecond);
        const more = wanted - (recorded.get(path) ?? 0);
        if (more > 0) await record(path, more);
        recorded.set(path, wanted);
      }
      await delay(STEP_MS);
    }
  })();
  return {
    async stop(): Promise<void> {
      stopped.abort();
      await running;
    },
  };
}

/** Records events for the webhook of that path, and wakes the relay as the commit of a cause does. */
async function record(path: string, count: number): Promise<void> {
  await system.db.query(
    `with recorded as (
       insert into events (id, account_id, type, created_at, data)
       select 'evt_' || gen_random_uuid(), $1, 'email.sent', clock_timestamp(), '{}' from generate_series(1, $3::int)
       returning id
     ),
     queued as (
       insert into deliveries (event_id, webhook_id)
       select recorded.id, w.id from recorded, webhooks w where w.endpoint like '%' || $2
     )
     select pg_notify('postrider_wake', w.id) from webhooks w where w.endpoint like '%' || $2`,
    [system.accountId, path, count],
  );
}

async function untilOnTime(path: string): Promise<void> {
  const before = arrivals(path).length;
  await waitFor(
    () => {
      const latest = arrivals(path).slice(before).slice(-ON_TIME_ARRIVALS);
      return (
        latest.length === ON_TIME_ARRIVALS && latest.every((request) => latenessMs(request) <= ON_TIME_MS)
      );
    },
    { what: `${path} to be on time`, timeoutMs: 60_000 },
  );
}

async function untilLate(path: string): Promise<void> {
  await waitFor(() => latenessMs(arrivals(path).at(-1)) > ON_TIME_MS, { what: `${path} to be late` });
}

function arrivals(path: string): readonly ReceivedRequest[] {
  return system.receiver.requests.filter((request) => request.path === path);
}

/** The time from the `created_at` in the envelope to the arrival. */
function latenessMs(request: ReceivedRequest | undefined): number {
  if (request === undefined) return 0;
  const { created_at: createdAt } = JSON.parse(request.body.toString()) as { created_at: string };
  return request.receivedAt.getTime() - Date.parse(createdAt);
}
