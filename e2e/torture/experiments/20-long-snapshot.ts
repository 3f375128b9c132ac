import { setTimeout as delay } from 'node:timers/promises';
import { answer, holdingSnapshot, takingMs } from '@postrider/testing';
import type { Experiment } from '../harness/experiment.ts';
import type { Endpoint } from '../harness/world/endpoint.ts';
import type { World } from '../harness/world/world.ts';
import { arrivalTimesMs, inWords } from './arrival-times.ts';

/** A million for the three together. */
const DEAD_OF_EACH_WEBHOOK = 333_334;
const DEAD_AT_ONCE = 5_000;
const ENDPOINTS = 3;
/** Causes in flight: enough for full load, too few for a backlog. */
const IN_FLIGHT = 100;
const PRODUCERS = 4;
const MEASURED_MS = 20_000;
/** A claim that reads all ended rows would leave a twentieth of the arrivals. */
const SLOWER_MAX = 2;

export const longSnapshot: Experiment = {
  number: 20,
  title: 'a snapshot held at full load while a million deliveries come and go',
  shows: 'rows that vacuum may not remove meanwhile do not slow the deliveries',
  runs: 'ci',
  async run(world) {
    const endpoints: Endpoint[] = [];
    for (let made = 0; made < ENDPOINTS; made += 1) {
      endpoints.push(await world.endpoint({ reaction: takingMs(20, answer(200)) }));
    }
    const [first] = endpoints;
    if (first === undefined) throw new Error('there is no endpoint');
    await world.start('relay');
    await world.start('worker');
    const load = fullLoad(world, first);
    await first.arrived(IN_FLIGHT);
    const quiet = await arrivalsMeanwhile(first);
    const before = world.producer.log.length;
    let held = NaN;
    await world.fault('a snapshot is held', { mayRepeat: false }, () =>
      holdingSnapshot(world, async () => {
        await leaveDeadRows(world, endpoints);
        held = await arrivalsMeanwhile(first);
        await claimThatVacuumKeptRows(world);
      }),
    );
    await load.stop();
    world.claim(
      'no less than half as many arrived in the same time',
      held * SLOWER_MAX >= quiet,
      `${held} with the snapshot, ${quiet} before`,
    );
    const times = (from: number, to?: number): string =>
      inWords(arrivalTimesMs(world.producer.log.slice(from, to), first.receipts));
    world.note(`from commit to arrival: before ${times(0, before)}; with the snapshot ${times(before)}`);
  },
};

/** As many causes as the system keeps up with. */
function fullLoad(world: World, endpoint: Endpoint): { stop(): Promise<void> } {
  const over = new AbortController();
  let committed = 0;
  const produce = async (): Promise<void> => {
    while (!over.signal.aborted) {
      if (committed - endpoint.receipts.length < IN_FLIGHT) {
        committed += 1;
        await world.producer.record(1);
      } else await delay(1);
    }
  };
  const producing = Promise.all(Array.from({ length: PRODUCERS }, produce));
  producing.catch(() => over.abort()); // at the deadline; `stop` says so
  return {
    async stop() {
      over.abort();
      await producing;
    },
  };
}

async function arrivalsMeanwhile({ receipts }: Endpoint): Promise<number> {
  const before = receipts.length;
  await delay(MEASURED_MS);
  return receipts.length - before;
}

/**
 * Inserts, leases and deletes each row in one transaction. No session sees it, and vacuum may not remove it.
 */
async function leaveDeadRows(world: World, endpoints: readonly Endpoint[]): Promise<void> {
  const rows = world.scaled(DEAD_OF_EACH_WEBHOOK);
  for (const { webhookId } of endpoints) {
    for (let left = rows; left > 0; left -= DEAD_AT_ONCE) {
      await world.query(
        `do $$ begin
           insert into deliveries (event_id, webhook_id)
           select 'evt_dead', '${webhookId}' from generate_series(1, ${Math.min(left, DEAD_AT_ONCE)});
           update deliveries set leased_until = now() where event_id = 'evt_dead';
           delete from deliveries where event_id = 'evt_dead';
         end $$`,
      );
    }
  }
}

async function claimThatVacuumKeptRows(world: World): Promise<void> {
  await world.query('vacuum deliveries');
  const [row] = await world.query<{ dead: number }>(
    `select n_dead_tup::float8 as dead from pg_stat_user_tables where relname = 'deliveries'`,
  );
  const dead = row?.dead ?? NaN;
  const rows = ENDPOINTS * world.scaled(DEAD_OF_EACH_WEBHOOK);
  world.claim('vacuum could not remove the dead rows', dead >= rows, `${dead} dead rows`);
}
