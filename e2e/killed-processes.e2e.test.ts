import { afterEach, expect, test } from '@jest/globals';
import { answer, runs, takingMs } from '@postrider/testing';
import type { SystemProcess } from '@postrider/testing';
import {
  arrivals,
  arrivedAtLeast,
  EVENTS,
  expectNoneLost,
  SHORT_LEASES,
  TIMEOUT_MS,
} from './short-leases.ts';
import { startSystem } from './start-system.ts';
import type { System } from './start-system.ts';

/** The kills are spread over the first half of the events. */
const KILLS = runs({ usual: 2, long: 4 });
const EVENTS_PER_KILL = EVENTS / (2 * KILLS);

/** On a busy machine no attempt runs out of time: a retry would look like a duplicate. */
const USUAL_LEASES = { DELIVERY_TIMEOUT_MS: '20000', LEASE_SECONDS: '30' };

let system: System;

afterEach(() => system.close());

test.each(['relay', 'worker'] as const)(
  `killing the %s again and again during ${EVENTS} events loses nothing`,
  async (victim) => {
    system = await startSystem({ env: victim === 'relay' ? USUAL_LEASES : SHORT_LEASES });
    system.receiver.always('/hook', takingMs(10, answer(200)));
    await system.webhook('/hook');
    const running = new Map<string, SystemProcess>();
    const started = await system.startAll(['relay', 'worker']);
    for (const each of started) running.set(each.name, each);
    const recording = system.record(EVENTS);
    let inFlightAtKills = 0;
    for (let kill = 1; kill <= KILLS; kill += 1) {
      await arrivedAtLeast(system, kill * EVENTS_PER_KILL);
      await running.get(victim)?.kill();
      inFlightAtKills += await takenAndUnfinished();
      running.set(victim, await system.start(victim));
    }
    const ids = await recording;
    await system.drained(TIMEOUT_MS / 2);
    expectNoneLost(system, ids);
    const duplicates = system.receiver.requests.length - arrivals(system).size;
    expect(duplicates).toBeLessThanOrEqual(victim === 'worker' ? inFlightAtKills : 0);
  },
  TIMEOUT_MS,
);

/** Deliveries that a worker had taken and not finished. */
async function takenAndUnfinished(): Promise<number> {
  const [row] = await system.db.query<{ n: number }>(
    'select count(*)::int as n from deliveries where taken_at is not null and leased_until > now()',
  );
  return row?.n ?? 0;
}
