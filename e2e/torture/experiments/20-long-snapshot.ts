import { setTimeout as delay } from 'node:timers/promises';
import { answer, takingMs } from '@postrider/testing';
import type { Experiment } from '../harness/experiment.ts';
import type { World } from '../harness/world/world.ts';
import { arrivalTimesMs, inWords } from './arrival-times.ts';

const SNAPSHOT_SECONDS = 300;
const PER_SECOND = 100;
const ENDPOINTS = 3;
const LOOK_EVERY_MS = 250;

export const longSnapshot: Experiment = {
  number: 20,
  title: 'a snapshot held for five minutes at full load',
  shows:
    'what vacuum may not remove meanwhile does not bring the claims to a stand: arrivals keep up with causes',
  runs: 'long',
  deadlineSeconds: 1_200,
  async run(world) {
    const endpoints = [];
    for (let made = 0; made < ENDPOINTS; made += 1) {
      endpoints.push(await world.endpoint({ reaction: takingMs(20, answer(200)) }));
    }
    const [first] = endpoints;
    if (first === undefined) throw new Error('there is no endpoint');
    await world.start('relay');
    await world.start('worker');
    const load = world.producer.load({ perSecond: PER_SECOND });
    await first.arrived(world.scaled(PER_SECOND));
    let before = world.producer.log.length;
    await world.fault('a snapshot is held', { mayRepeat: false }, async () => {
      before = world.producer.log.length;
      const over = new AbortController();
      // One statement is one snapshot.
      const held = world
        .query('select pg_sleep($1)', [world.scaled(SNAPSHOT_SECONDS)])
        .finally(() => over.abort());
      let behindSeconds = 0;
      let transactionsBack = 0;
      while (!over.signal.aborted) {
        behindSeconds = await ageOfOldest(world);
        transactionsBack = Math.max(transactionsBack, await ageOfSnapshot(world));
        await delay(LOOK_EVERY_MS);
      }
      await held;
      // Claims that came to a stand would let it grow with the time; a busy machine only makes it longer.
      const kept = behindSeconds <= world.scaled(SNAPSHOT_SECONDS) / 3;
      world.claim('arrivals kept up with causes to the last', kept, `${behindSeconds.toFixed(1)} s behind`);
      world.claim(
        'vacuum was kept from what died since',
        transactionsBack > world.scaled(SNAPSHOT_SECONDS),
        `${transactionsBack} transactions`,
      );
    });
    await load.stop();
    await world.drained();
    const times = (from: number, to?: number): string =>
      inWords(arrivalTimesMs(world.producer.log.slice(from, to), first.receipts));
    world.note(`from commit to arrival: before ${times(0, before)}; with the snapshot ${times(before)}`);
  },
};

/** Of the causes that have not arrived everywhere, in seconds. */
async function ageOfOldest(world: World): Promise<number> {
  const [row] = await world.query<{ seconds: number }>(
    `select coalesce(extract(epoch from now() - min(e.created_at)), 0)::float8 as seconds
     from deliveries d join events e on e.id = d.event_id`,
  );
  return row?.seconds ?? NaN;
}

/** How many transactions behind the oldest snapshot of this database is. */
async function ageOfSnapshot(world: World): Promise<number> {
  const [row] = await world.query<{ n: number }>(
    `select coalesce(max(age(backend_xmin)), 0)::int as n from pg_stat_activity
     where datname = current_database() and query like 'select pg_sleep%'`,
  );
  return row?.n ?? 0;
}
