import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { answer, runs, takingMs, waitFor } from '@postrider/testing';
import type { SystemProcess } from '@postrider/testing';
import { arrivals, EVENTS, expectNoneLost, TIMEOUT_MS, untilArrived } from './arrivals.ts';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/* Crashes lose no event. An event arrives twice only when a worker dies during its attempt. */

/** Long, so that no attempt times out on a busy machine: its retry would look like a duplicate. */
const LEASES = { DELIVERY_TIMEOUT_MS: '20000', LEASE_SECONDS: '30' };

/** The kills are spread over the first half of the events. */
const KILLS = runs({ usual: 2, long: 4 });
const EVENTS_PER_KILL = EVENTS / (2 * KILLS);

/** Events while connections are cut, and while two relays and two workers run. */
const FEW_EVENTS = runs({ usual: 150, long: 300 });
const CUTS = 30;
/** Events before the active relay gets a signal, and after it. */
const EVENTS_PER_RELAY = 20;

const ACTIVE = 'relay is active';
const STANDS_BY = 'relay stands by: another one is active';

type VictimName = 'relay' | 'worker';

let system: System;

beforeAll(async () => {
  system = await startSystem({ env: LEASES });
});
afterAll(() => system.close());
afterEach(() => system.reset());

const running = (name: VictimName) => system.processes.filter((each) => each.name === name && each.running);

/** Starts relays and workers until this many of each run. */
async function ensureRunning(wanted: Readonly<Record<VictimName, number>>): Promise<void> {
  const missing = (['relay', 'worker'] as const).flatMap((name) =>
    Array<VictimName>(Math.max(0, wanted[name] - running(name).length)).fill(name),
  );
  await system.startAll(missing);
}

async function killAll(name: VictimName): Promise<void> {
  await Promise.all(running(name).map((each) => each.kill()));
}

test.each(['relay', 'worker'] as const)(
  `killing the %s again and again during ${EVENTS} events loses nothing, and repeats only attempts in flight`,
  async (victim) => {
    await ensureRunning({ relay: 1, worker: 1 });
    system.receiver.always('/hook', takingMs(10, answer(200)));
    await system.webhook('/hook');
    const recording = system.record(EVENTS);
    const inFlightAtKills: string[] = [];
    for (let kill = 1; kill <= KILLS; kill += 1) {
      await untilArrived(system, kill * EVENTS_PER_KILL);
      // A frozen worker's rows stay as they are while they are read.
      for (const each of running(victim)) each.signal('SIGSTOP');
      if (victim === 'worker') inFlightAtKills.push(...(await takenAndUnfinished()));
      await killAll(victim);
      await system.start(victim);
    }
    const ids = await recording;
    await system.drained(TIMEOUT_MS / 2);
    expectNoneLost(system, ids);
    const repeated = [...arrivals(system)].filter(
      ([event, times]) => times > 1 + inFlightAtKills.filter((each) => each === event).length,
    );
    expect(repeated).toEqual([]);
  },
  TIMEOUT_MS,
);

/** The events of the deliveries that a worker had taken and not finished. */
async function takenAndUnfinished(): Promise<string[]> {
  const rows = await system.db.query<{ event: string }>(
    'select event_id as event from deliveries where taken_at is not null and leased_until > now()',
  );
  return rows.map(({ event }) => event);
}

test(
  'nothing is lost when connections to Postgres are cut at random',
  async () => {
    await ensureRunning({ relay: 1, worker: 1 });
    await system.webhook('/hook');
    const recording = system.record(FEW_EVENTS);
    let cuts = 0;
    await waitFor(
      async () => {
        const rows = await system.db.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where datname = current_database() and application_name in ('postrider-relay', 'postrider-worker', 'postrider-queue')
           order by random() limit 2`,
        );
        cuts += rows.length;
        return cuts >= CUTS;
      },
      { what: 'the connections to be cut', intervalMs: 50 },
    );
    const ids = await recording;
    await system.drained(TIMEOUT_MS / 2);
    expectNoneLost(system, ids);
  },
  TIMEOUT_MS,
);

test('with two relays and two workers each event arrives exactly once', async () => {
  await ensureRunning({ relay: 2, worker: 2 });
  await system.webhook('/hook');
  const ids = await system.record(FEW_EVENTS);
  await system.drained(60_000);
  expect(arrivals(system).size).toBe(ids.length);
  expect(system.receiver.requests).toHaveLength(ids.length);
});

function isActive({ log }: SystemProcess): boolean {
  return log.findLast(({ msg }) => msg === ACTIVE || msg === STANDS_BY)?.['msg'] === ACTIVE;
}

test.each(['SIGSTOP', 'SIGKILL'] as const)(
  'when the active relay gets %s, the other one takes over; nothing is lost, and nothing is sent twice',
  async (signal) => {
    await ensureRunning({ relay: 2, worker: 1 });
    await system.webhook('/hook');
    const active = await waitFor(() => running('relay').find(isActive), { what: 'a relay to be active' });
    const others = running('relay').filter((each) => each !== active);
    const ids = await system.record(EVENTS_PER_RELAY);
    await system.receiver.waitForRequests(EVENTS_PER_RELAY);
    expect(others.map(isActive)).toEqual([false]);

    active.signal(signal);
    ids.push(...(await system.record(EVENTS_PER_RELAY)));
    await system.receiver.waitForRequests(2 * EVENTS_PER_RELAY);
    expect(others.map(isActive)).toEqual([true]);
    await system.drained();
    expectNoneLost(system, ids);
    expect([...arrivals(system).values()].filter((times) => times > 1)).toEqual([]);
    if (signal !== 'SIGSTOP') return;

    active.signal('SIGCONT');
    await waitFor(() => !isActive(active), { what: 'the thawed relay to stand by', timeoutMs: 30_000 });
  },
  90_000,
);
