import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { startRedis } from '@postrider/embedded';
import type { RunningRedis } from '@postrider/embedded';
import { answer, describeWithRedis, hang, runs, takingMs, waitFor } from '@postrider/testing';
import type { SystemProcess } from '@postrider/testing';
import { Redis } from 'ioredis';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/*
 * What a crash or a wiped queue may cost: nothing lost, and an event twice only where an attempt was in flight.
 * Leases are short here, so that healing takes seconds; nothing else differs from production.
 */
const SHORT_LEASES = { DELIVERY_TIMEOUT_MS: '2000', LEASE_SECONDS: '8' };
const EVENTS = runs({ usual: 1_000, long: 20_000 });
const WIPES_MAX = runs({ usual: 6, long: 60 });
/** The victim is killed four times, each time after another eighth of the events has arrived. */
const KILLS = 4;
const EVENTS_PER_KILL = EVENTS / (2 * KILLS);

let system: System;
let redis: RunningRedis | null = null;

afterEach(async () => {
  await system.close();
  await redis?.stop();
  redis = null;
});

async function withRedis(): Promise<void> {
  redis = await startRedis();
  system = await startSystem({ redisUrl: redis.url, env: SHORT_LEASES });
}

const TIMEOUT_MS = runs({ usual: 240_000, long: 3_600_000 });

/** How often each event arrived. */
function arrivals(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const request of system.receiver.requests) {
    const id = String(request.headers['service-event-id']);
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}

function expectNoneLost(ids: readonly string[]): void {
  const arrived = arrivals();
  expect(ids.filter((id) => !arrived.has(id))).toEqual([]);
}

async function arrivedAtLeast(count: number): Promise<void> {
  await system.receiver.waitForRequests(count, { withinMs: TIMEOUT_MS / 4 });
}

describeWithRedis('with the queue in Redis', () => {
  test(
    'a wiped Redis, in full flight and again and again, loses nothing',
    async () => {
      await withRedis();
      system.receiver.always('/hook', takingMs(20, answer(200)));
      await system.webhook('/hook');
      await system.startAll(['relay', 'worker']);
      const client = new Redis(redis?.url ?? '');
      let wipes = 0;
      const wiping = (async () => {
        while ((await system.outstanding()) > 0 || wipes === 0) {
          await arrivedAtLeast(Math.min(EVENTS, 100 * (wipes + 1)));
          await client.flushall();
          wipes += 1;
          if (wipes >= WIPES_MAX) return;
        }
      })();
      const ids = await system.record(EVENTS);
      await wiping;
      client.disconnect();
      await system.drained(TIMEOUT_MS / 2);
      expectNoneLost(ids);
      expect(wipes).toBeGreaterThan(3);
    },
    TIMEOUT_MS,
  );

  test(
    'a Redis that is killed and comes back empty loses nothing',
    async () => {
      await withRedis();
      await system.webhook('/hook');
      await system.startAll(['relay', 'worker']);
      const ids = await system.record(200);
      await arrivedAtLeast(50);
      const port = redis?.port ?? 0;
      redis?.kill('SIGKILL');
      ids.push(...(await system.record(200))); // a cause does not wait for Redis
      redis = await startRedis({ port });
      await system.drained(TIMEOUT_MS / 2);
      expectNoneLost(ids);
    },
    TIMEOUT_MS,
  );
});

describe('with the queue in Postgres', () => {
  beforeEach(async () => {
    system = await startSystem({ env: SHORT_LEASES });
  });

  test('a worker killed in mid-attempt: the attempt is made again by another, the rest once', async () => {
    system.receiver.script('/hook', [hang()]);
    await system.webhook('/hook');
    const [, doomed] = await system.startAll(['relay', 'worker']);
    const ids = await system.record(1);
    await arrivedAtLeast(1);
    await doomed.kill();
    await system.start('worker');
    await system.drained(60_000);
    expectNoneLost(ids);
    expect(system.receiver.requests).toHaveLength(2);
    expect(await system.db.query('select attempt from attempts')).toEqual([{ attempt: 1 }]);
  }, 120_000);

  test.each(['relay', 'worker'] as const)(
    `killing the %s again and again during ${EVENTS} events loses nothing`,
    async (victim) => {
      system.receiver.always('/hook', takingMs(10, answer(200)));
      await system.webhook('/hook');
      const running = new Map<string, SystemProcess>();
      const started = await system.startAll(['relay', 'worker']);
      for (const each of started) running.set(each.name, each);
      const recording = system.record(EVENTS);
      let inFlightAtKills = 0;
      for (let kill = 1; kill <= KILLS; kill += 1) {
        await arrivedAtLeast(kill * EVENTS_PER_KILL);
        await running.get(victim)?.kill();
        inFlightAtKills += await inHands();
        running.set(victim, await system.start(victim));
      }
      const ids = await recording;
      await system.drained(TIMEOUT_MS / 2);
      expectNoneLost(ids);
      const duplicates = system.receiver.requests.length - arrivals().size;
      expect(duplicates).toBeLessThanOrEqual(victim === 'worker' ? inFlightAtKills : 0);
    },
    TIMEOUT_MS,
  );

  test(
    'connections to Postgres cut at random during the run: nothing is lost',
    async () => {
      await system.webhook('/hook');
      await system.startAll(['relay', 'worker']);
      const recording = system.record(500);
      let cuts = 0;
      await waitFor(
        async () => {
          const rows = await system.db.query(
            `select pg_terminate_backend(pid) from pg_stat_activity
           where datname = current_database() and application_name in ('postrider-relay', 'postrider-worker', 'postrider-queue')
           order by random() limit 2`,
          );
          cuts += rows.length;
          return cuts >= 40;
        },
        { what: 'the connections to be cut', intervalMs: 100 },
      );
      const ids = await recording;
      await system.drained(TIMEOUT_MS / 2);
      expectNoneLost(ids);
    },
    TIMEOUT_MS,
  );

  test('two relays and two workers share the work: every event arrives once', async () => {
    await system.webhook('/hook');
    await system.startAll(['relay', 'relay', 'worker', 'worker']);
    const ids = await system.record(500);
    await system.drained(60_000);
    expect(arrivals().size).toBe(ids.length);
    expect(system.receiver.requests).toHaveLength(ids.length);
  }, 120_000);
});

/** Deliveries that a worker had taken and not finished. */
async function inHands(): Promise<number> {
  const [row] = await system.db.query<{ n: number }>(
    'select count(*)::int as n from deliveries where taken_at is not null and leased_until > now()',
  );
  return row?.n ?? 0;
}
